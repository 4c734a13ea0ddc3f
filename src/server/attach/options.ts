import type { ConnectOptions } from '../../client/connect/connect.js'
import { INVOKE_TOPIC, LIFE_TOPIC } from '../../core/protocol/topics.js'
import { checkOptionNames } from '../../core/util/check.js'
import { systemClock } from '../../core/util/clock.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
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

/** How to connect, as for `connect`. */
type Connecting = Pick<
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

/** What is kept, and how it is spelt, as for `serve`. */
type Keeping = Pick<
  ServeOptions,
  'data' | 'persist' | 'persistKeys' | 'log' | 'onProgress' | 'dialect' | 'clock' | 'maxKeys' | 'maxBytes'
>

/** Options of {@link attach}. */
export interface AttachOptions extends Connecting, Keeping {
  /**
   * MQTT client id, the same for all services of which one is to serve at a time: the broker lets nobody have it twice.
   * Default `rx-statestore-service`.
   */
  readonly clientId?: string | undefined
  /** Largest packet the broker may send, bytes. Default 16 MiB. */
  readonly maxPacketSize?: number | undefined
  /** Most watches of keys; one more is refused with `quota-exceeded`. Default 500,000. */
  readonly maxWatches?: number | undefined
  /** Of one client. Default 100,000. */
  readonly maxWatchesPerClient?: number | undefined
  /**
   * Most clients that watch one key, and that watch by globs; one more is refused with `quota-exceeded`. Each change is a
   * notification to each of them. Default 1,000, and with {@link identityProperty} no bound: without it one client can ask
   * in any number of names.
   */
  readonly maxWatchersPerKey?: number | undefined
  /**
   * User property in which the broker says the id of the client that published, for brokers that can. Default: whoever
   * the response topic belongs to is believed to ask, which only rights at the broker can make true.
   */
  readonly identityProperty?: string | undefined
  /**
   * Filter under which the broker says that a client is gone, with the last `+` for its client id: then its registrations end,
   * unless it was heard in the last 5 s. EMQX and rmqtt have `$SYS/brokers/+/clients/+/disconnected`. Only the broker may be
   * allowed to publish there. Default: registrations end with the first change that nobody gets.
   */
  readonly disconnectEvents?: string | undefined
  /** Who may read and write which keys, as for `serve`, by client ids. Needs {@link identityProperty}. */
  readonly policy?: string | undefined
}

/** Options with their defaults. */
export interface Settings {
  readonly clientId: string
  readonly connecting: Connecting
  readonly keeping: Checked<Keeping, 'log'>
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

/** Those of {@link AttachOptions} that are plain values of its own: what they may be, are without, and are for. */
export const ATTACH_OPTIONS = {
  dialect: DIALECT,
  maxKeys: QUOTAS.maxKeys,
  maxBytes: QUOTAS.maxBytes,
  maxWatches: { kind: count, default: 500_000, help: 'most watches of keys' },
  maxWatchesPerClient: { kind: count, default: 100_000 },
  maxWatchersPerKey: {
    kind: count,
    without: '1000 without --identity-property',
    help: 'most clients that watch one key',
  },
  maxPacketSize: { kind: count, default: 16 * 1024 * 1024 },
  identityProperty: {
    kind: text('<name>'),
    help: 'user property in which the broker says which client published',
  },
  disconnectEvents: {
    kind: eventFilter,
    help: 'where the broker says that clients are gone: the last + is the client id',
  },
} satisfies Partial<Record<keyof AttachOptions, OptionEntry<unknown>>>

/** Reads options. Throws {@link ArgumentError}; what is for the connection is looked at when it is made. */
export function settingsFrom(options: AttachOptions): Settings {
  checkValues(ATTACH_OPTIONS, options)
  const { dialect, ...numbers } = withDefaults(ATTACH_OPTIONS, options)
  const { maxPacketSize, maxKeys, maxWatches, maxWatchesPerClient } = numbers
  const { clientId = 'rx-statestore-service', clock = systemClock, maxBytes = defaultMaxBytes() } = options
  const { identityProperty, policy, disconnectEvents } = options
  const { maxWatchersPerKey = identityProperty === undefined ? 1_000 : Number.MAX_SAFE_INTEGER } = options
  checkIdentity(identityProperty, policy)
  const connecting = connectingOf(options)
  const keeping = { ...checkStorage(options), dialect, clock, maxKeys, maxBytes }
  checkOptionNames('attach', options, {
    ...connecting,
    ...keeping,
    ...numbers,
    maxWatchersPerKey,
    clientId,
    identityProperty,
    policy,
    disconnectEvents,
  })
  return {
    clientId,
    connecting: Object.fromEntries(Object.entries(connecting).filter(([, value]) => value !== undefined)),
    keeping,
    maxPacketSize,
    watches: { max: maxWatches, maxPerOwner: maxWatchesPerClient, maxPerKey: maxWatchersPerKey },
    identityProperty,
    policy: policy === undefined ? undefined : parsePolicyOption(policy),
    disconnectEvents: disconnectEvents === undefined ? undefined : new DisconnectTopicFilter(disconnectEvents),
  }
}

function connectingOf(options: AttachOptions) {
  const { username, password, ca, cert, key, keyPassphrase, connectTimeout, authentication, credentials } = options
  // A broker that is gone is noticed soon, and found again soon.
  const { keepAlive = 10_000, reconnect = { max: 1_000 } } = options
  const secrets = { username, password, authentication, credentials }
  return { ...secrets, ca, cert, key, keyPassphrase, connectTimeout, keepAlive, reconnect }
}

function checkIdentity(property: string | undefined, policy: string | undefined): void {
  if (property !== undefined && (typeof property !== 'string' || property === ''))
    throw new ArgumentError(
      `Expected \`identityProperty\` to be the name of a user property, got \`${formatValue(property)}\``,
    )
  if (policy === undefined || property !== undefined) return
  throw new ArgumentError(
    'A policy needs to know who asks, and a broker does not tell: behind it any client may use the response topic of ' +
      'another. Have the broker name the client in a user property and give `identityProperty`, or leave the policy to ' +
      'the rules of the broker',
  )
}

/** MQTT 5.0, section 1.5.4, bytes; a filter of others than ASCII has fewer characters. */
const MOST = 65_535

/**
 * Where a broker says which clients are gone: a filter whose last `+` stands for the client id. What such a message holds is
 * not looked at.
 */
export class DisconnectTopicFilter {
  readonly filter: string
  readonly #levels: readonly string[]
  readonly #place: number

  /** Throws {@link ArgumentError} for what is no such filter. */
  constructor(filter: string) {
    const levels = typeof filter === 'string' ? filter.split('/') : []
    this.#place = levels.lastIndexOf('+')
    this.#levels = levels
    const isWhole = levels.every(level => level === '+' || !/[+#\0]/.test(level))
    const isOurs = [INVOKE_TOPIC, LIFE_TOPIC].some(topic => this.clientOf(topic) !== undefined)
    if (this.#place < 0 || !isWhole || isOurs || filter.length > MOST)
      throw new ArgumentError(
        `Expected \`disconnectEvents\` to be ${eventFilter.expected}, got \`${formatValue(filter)}\``,
      )
    this.filter = filter
  }

  /** The client that a message to a topic is about; `undefined` if it is no message of that kind. */
  clientOf(topic: string): string | undefined {
    const levels = topic.split('/', this.#levels.length + 1)
    const isOne =
      levels.length === this.#levels.length && this.#levels.every((level, i) => level === '+' || level === levels[i])
    return isOne ? levels[this.#place] : undefined
  }
}
