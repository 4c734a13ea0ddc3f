import { checkArgument, checkOptionNames, checkPositiveInteger } from '../../core/util/check.js'
import { ArgumentError, type StateStoreError } from '../../core/util/errors.js'
import type { ConnectOptions } from '../connect/connect.js'
import { type Pattern, parsePattern } from './pattern.js'

/** Connection options of the broker, as for `connect`. */
type Connecting = Pick<
  ConnectOptions,
  | 'username'
  | 'password'
  | 'ca'
  | 'cert'
  | 'key'
  | 'keyPassphrase'
  | 'authentication'
  | 'credentials'
  | 'keepAlive'
  | 'connectTimeout'
  | 'reconnect'
>

/** Options of `retained`. */
export interface RetainedOptions {
  /** Topic filter, such as `plant/+/temp`. */
  readonly topic: string
  /**
   * The key of each topic, such as `plant/{1}/temp`: `{1}` is the value of the first `+`, and `{#}` the value of `#`.
   */
  readonly keys: string
  /**
   * `to-keys` (default): keys follow topics. `to-topics`: topics follow keys. `both`: each follows the other, and the
   * topic wins if both changed while the sync was disconnected.
   */
  readonly direction?: 'to-keys' | 'to-topics' | 'both' | undefined
  /**
   * Time to live of a key, ms, counted from the last message on its topic. Default: never. Not available with
   * `to-topics`.
   */
  readonly expiresIn?: number | undefined
  /**
   * Maximum number of topics; messages on further topics are reported on `errors$` and ignored. Default 100,000. Values
   * may take 256 MiB in total. Except with `to-keys`, more keys end the sync with `overflow`.
   */
  readonly maxTopics?: number | undefined
  /**
   * Maximum number of levels of a published topic; keys whose topic has more levels are reported on `errors$` and
   * ignored. Default 128, because brokers have limits, and some close the connection when a topic exceeds them.
   */
  readonly maxLevels?: number | undefined
  /** MQTT client id at the broker of the topics. Default: random. */
  readonly clientId?: string | undefined
  /** Connection options of the broker of the topics. Default: no options except the address. */
  readonly connection?: Connecting | undefined
}

export interface RetainedSettings {
  readonly pattern: Pattern
  readonly direction: 'to-keys' | 'to-topics' | 'both'
  readonly expiresIn: number | undefined
  readonly maxTopics: number
  readonly maxLevels: number
  readonly clientId: string | undefined
  readonly connection: Connecting
}

const DIRECTIONS = ['to-keys', 'to-topics', 'both']

export function toSettings(options: RetainedOptions): RetainedSettings {
  const { topic, keys, direction = 'to-keys', expiresIn, maxTopics = 100_000 } = options
  const { maxLevels = 128, clientId, connection = {} } = options
  checkOptionNames('retained', options, {
    topic,
    keys,
    direction,
    expiresIn,
    maxTopics,
    maxLevels,
    clientId,
    connection,
  })
  checkArgument(DIRECTIONS.includes(direction), `\`direction\` to be one of ${DIRECTIONS.join(', ')}`, direction)
  if (expiresIn !== undefined) checkPositiveInteger('expiresIn', expiresIn)
  if (expiresIn !== undefined && direction === 'to-topics')
    throw new ArgumentError('`expiresIn` applies to written keys, and `to-topics` writes none')
  checkPositiveInteger('maxTopics', maxTopics)
  checkPositiveInteger('maxLevels', maxLevels)
  return { pattern: parsePattern(topic, keys), direction, expiresIn, maxTopics, maxLevels, clientId, connection }
}

/** Status of a retained sync. */
export type RetainedStatus =
  /** The sync is connecting for the first time, or reading retained messages. */
  | { readonly state: 'connecting' }
  /** All retained messages have been received. */
  | { readonly state: 'live' }
  /** The broker of the topics is disconnected. */
  | { readonly state: 'reconnecting'; readonly cause: StateStoreError }
  /** The final state. `cause` is undefined after `close()`. */
  | { readonly state: 'closed'; readonly cause: StateStoreError | undefined }

/** Counters of a sync. */
export interface RetainedStats {
  /** Number of known topics. */
  readonly topics: number
  /** Number of keys that were written or deleted. */
  readonly written: number
  /** Number of messages that were published. */
  readonly published: number
}
