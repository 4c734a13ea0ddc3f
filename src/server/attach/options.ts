import type { ConnectOptions } from '../../client/connect/connect.js'
import { INSTANCE_TOPIC, INVOKE_TOPIC } from '../../core/protocol/topics.js'
import { checkArgument, checkOptionNames } from '../../core/util/check.js'
import { systemClock } from '../../core/util/clock.js'
import { ArgumentError } from '../../core/util/errors.js'
import { omitUndefined } from '../../core/util/omit-undefined.js'
import {
  type Checked,
  checkValues,
  count,
  type OptionEntry,
  type OptionKind,
  text,
  withDefaults,
} from '../../core/util/options.js'
import type { Policy } from '../access/policy.js'
import { DIALECT, type ServeOptions } from '../host/options.js'
import { QUOTAS } from '../host/quotas.js'
import { parsePolicyOption } from '../host/security.js'
import { checkStorage, defaultMaxBytes } from '../storage/storage-options.js'

type ConnectionOptions = Pick<
  ConnectOptions,
  | 'username'
  | 'password'
  | 'ca'
  | 'cert'
  | 'key'
  | 'keyPassphrase'
  | 'connectTimeout'
  | 'authentication'
  | 'credentials'
  | 'keepAlive'
  | 'reconnect'
>

type KeyspaceOptions = Pick<
  ServeOptions,
  'data' | 'persist' | 'persistKeys' | 'log' | 'onProgress' | 'dialect' | 'clock' | 'maxKeys' | 'maxBytes'
>

/** The options of `attach`: the connection to the broker, and the store beside it. */
export interface AttachOptions extends ConnectionOptions, KeyspaceOptions {
  /**
   * The MQTT client id, which the active and standby services share, because a broker connects only one client with
   * that id. Default: `rx-statestore-service`.
   */
  readonly clientId?: string | undefined
  /** The size in bytes of the largest packet that the broker may send. Default: 16 MiB. */
  readonly maxPacketSize?: number | undefined
  /** The maximum number of watches. Further watches are rejected with `quota-exceeded`. Default: 500,000. */
  readonly maxWatches?: number | undefined
  /** The maximum number of watches per client. Default: 100,000. */
  readonly maxWatchesPerClient?: number | undefined
  /**
   * The maximum number of clients per watched key, and of clients that watch globs. Further registrations are rejected
   * with `quota-exceeded`. Each change sends a notification to each of these clients. Default: 1,000, because one
   * client can register under any number of ids. With {@link AttachOptions.identityProperty}, which prevents such
   * registrations, the default is unlimited.
   */
  readonly maxWatchersPerKey?: number | undefined
  /**
   * The user property in which the broker names the client that published. By default, the owner of the response topic
   * is taken for the sender, which requires access rules at the broker.
   */
  readonly identityProperty?: string | undefined
  /**
   * The topic filter of the broker's disconnect messages, in which the last `+` stands for the client id. When a client
   * disconnects, its registrations end unless it sent a request in the last 5 s. EMQX and rmqtt use
   * `$SYS/brokers/+/clients/+/disconnected`. Only the broker must be allowed to publish to these topics. By default, a
   * client's registrations end with the first notification that has no receiver.
   */
  readonly disconnectEvents?: string | undefined
  /**
   * The access rules for keys by client id, in the format of `serve`. They require {@link
   * AttachOptions.identityProperty}.
   */
  readonly policy?: string | undefined
}

export interface Settings {
  readonly clientId: string
  readonly connection: ConnectionOptions
  readonly keyspace: Checked<KeyspaceOptions, 'log'>
  readonly maxPacketSize: number
  readonly watches: { readonly max: number; readonly maxPerOwner: number; readonly maxPerKey: number }
  readonly identityProperty: string | undefined
  readonly policy: Policy | undefined
  readonly disconnectEvents: DisconnectTopicFilter | undefined
}

const eventFilter: OptionKind<string> = {
  ...text('<filter>'),
  expected: 'a topic filter with a `+` for the client id, like `$SYS/brokers/+/clients/+/disconnected`',
}

export const ATTACH_OPTIONS = {
  dialect: DIALECT,
  maxKeys: QUOTAS.maxKeys,
  maxBytes: QUOTAS.maxBytes,
  maxWatches: { kind: count, default: 500_000, help: 'maximum number of watched keys' },
  maxWatchesPerClient: { kind: count, default: 100_000, help: 'maximum number of watched keys per client' },
  maxWatchersPerKey: {
    kind: count,
    without: '1000 without --identity-property',
    help: 'maximum number of clients per watched key',
  },
  maxPacketSize: { kind: count, default: 16 * 1024 * 1024, help: 'largest packet of the broker, bytes' },
  identityProperty: {
    kind: text('<name>'),
    help: 'user property that names the publishing client',
    isCommon: true,
  },
  disconnectEvents: {
    kind: eventFilter,
    help: 'topic filter of disconnect messages; the last + is the client id',
  },
} satisfies Partial<Record<keyof AttachOptions, OptionEntry<unknown>>>

export function settingsFrom(options: AttachOptions): Settings {
  checkValues(ATTACH_OPTIONS, options)
  const { dialect, ...numbers } = withDefaults(ATTACH_OPTIONS, options)
  const { maxPacketSize, maxKeys, maxWatches, maxWatchesPerClient } = numbers
  const { clientId = 'rx-statestore-service', clock = systemClock, maxBytes = defaultMaxBytes() } = options
  const { identityProperty, policy, disconnectEvents } = options
  const { maxWatchersPerKey = identityProperty === undefined ? 1_000 : Number.MAX_SAFE_INTEGER } = options
  checkIdentity(identityProperty, policy)
  const connection = connectionOptionsOf(options)
  const keyspace = { ...checkStorage(options), dialect, clock, maxKeys, maxBytes }
  checkOptionNames('attach', options, {
    ...connection,
    ...keyspace,
    ...numbers,
    maxWatchersPerKey,
    clientId,
    identityProperty,
    policy,
    disconnectEvents,
  })
  return {
    clientId,
    connection: omitUndefined(connection),
    keyspace,
    maxPacketSize,
    watches: { max: maxWatches, maxPerOwner: maxWatchesPerClient, maxPerKey: maxWatchersPerKey },
    identityProperty,
    policy: policy === undefined ? undefined : parsePolicyOption(policy),
    disconnectEvents: disconnectEvents === undefined ? undefined : new DisconnectTopicFilter(disconnectEvents),
  }
}

function connectionOptionsOf(options: AttachOptions) {
  const { username, password, ca, cert, key, keyPassphrase, connectTimeout, authentication, credentials } = options
  // These defaults make the store detect a broker failure and recover from it quickly.
  const { keepAlive = 10_000, reconnect = { max: 1_000 } } = options
  const secrets = { username, password, authentication, credentials }
  return { ...secrets, ca, cert, key, keyPassphrase, connectTimeout, keepAlive, reconnect }
}

function checkIdentity(property: string | undefined, policy: string | undefined): void {
  checkArgument(
    property === undefined || (typeof property === 'string' && property !== ''),
    '`identityProperty` to be the name of a user property',
    property,
  )
  if (policy === undefined || property !== undefined) return
  throw new ArgumentError(
    'A policy requires `identityProperty`: without it, any client may send requests with the response topic of ' +
      'another one. Configure the broker to name the client in a user property, or replace the policy by access ' +
      'rules of the broker',
  )
}

/**
 * The limit in bytes of a UTF-8 string (MQTT 5.0, section 1.5.4). A filter with non-ASCII characters may have fewer
 * characters.
 */
const MAX_FILTER_LENGTH = 65_535

/** A topic filter in which the last `+` stands for the client id. The payloads of the messages are ignored. */
export class DisconnectTopicFilter {
  readonly filter: string
  readonly #levels: readonly string[]
  readonly #clientIdLevel: number

  constructor(filter: string) {
    const levels = typeof filter === 'string' ? filter.split('/') : []
    this.#clientIdLevel = levels.lastIndexOf('+')
    this.#levels = levels
    const isValid = levels.every(level => level === '+' || !/[+#\0]/.test(level))
    const matchesOwnTopic = [INVOKE_TOPIC, INSTANCE_TOPIC].some(topic => this.clientOf(topic) !== undefined)
    checkArgument(
      this.#clientIdLevel >= 0 && isValid && !matchesOwnTopic && filter.length <= MAX_FILTER_LENGTH,
      `\`disconnectEvents\` to be ${eventFilter.expected}`,
      filter,
    )
    this.filter = filter
  }

  clientOf(topic: string): string | undefined {
    const levels = topic.split('/', this.#levels.length + 1)
    const isMatch =
      levels.length === this.#levels.length && this.#levels.every((level, i) => level === '+' || level === levels[i])
    return isMatch ? levels[this.#clientIdLevel] : undefined
  }
}
