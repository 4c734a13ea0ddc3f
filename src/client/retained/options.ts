import { checkOptionNames, checkPositiveInteger } from '../../core/util/check.js'
import { ArgumentError, formatValue, type StateStoreError } from '../../core/util/errors.js'
import type { ConnectOptions } from '../connect/connect.js'
import { type Pattern, patternOf } from './pattern.js'

/** How to connect to the broker of the topics, as for `connect`. */
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
  /** The topics: a filter, as `plant/+/temp`. */
  readonly topic: string
  /** Their keys, one for each, as `plant/{1}/temp`: `{1}` is what the first `+` stands for, `{#}` what `#` does. */
  readonly keys: string
  /**
   * What follows what: keys the topics (`to-keys`, the default), topics the keys (`to-topics`), or each the other (`both`),
   * where the topic wins if both were changed while the sync could not see them.
   */
  readonly direction?: 'to-keys' | 'to-topics' | 'both' | undefined
  /** ms after which a key is gone whose topic was not published any more. Default never. Not with `to-topics`. */
  readonly expiresIn?: number | undefined
  /**
   * Most topics; what comes of others is told on `errors$` and left out. Default 100,000. Their values have 256 MiB. More
   * keys, unless with `to-keys`, end the sync with `overflow`.
   */
  readonly maxTopics?: number | undefined
  /**
   * Most levels of a topic that is published; a key whose topic has more is reported on `errors$` and left out. Default 128,
   * as brokers have their own limits, and some end the connection over one level more.
   */
  readonly maxLevels?: number | undefined
  /** MQTT client id at the broker of the topics. Default a random one. */
  readonly clientId?: string | undefined
  /** How to connect to that broker. Default by its address alone. */
  readonly connection?: Connecting | undefined
}

/** Options with their defaults. */
export interface Terms {
  readonly pattern: Pattern
  readonly direction: 'to-keys' | 'to-topics' | 'both'
  readonly expiresIn: number | undefined
  readonly maxTopics: number
  readonly maxLevels: number
  readonly clientId: string | undefined
  readonly connection: Connecting
}

const DIRECTIONS = ['to-keys', 'to-topics', 'both']

/** Reads options. Throws {@link ArgumentError}. */
export function termsOf(options: RetainedOptions): Terms {
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
  if (!DIRECTIONS.includes(direction))
    throw new ArgumentError(
      `Expected \`direction\` to be one of ${DIRECTIONS.join(', ')}, got \`${formatValue(direction)}\``,
    )
  if (expiresIn !== undefined) checkPositiveInteger('expiresIn', expiresIn)
  if (expiresIn !== undefined && direction === 'to-topics')
    throw new ArgumentError('`expiresIn` is of keys that are written, and with `to-topics` none are')
  checkPositiveInteger('maxTopics', maxTopics)
  checkPositiveInteger('maxLevels', maxLevels)
  return { pattern: patternOf(topic, keys), direction, expiresIn, maxTopics, maxLevels, clientId, connection }
}

/** How a retained sync fares. */
export type RetainedStatus =
  /** Connecting for the first time, or reading what is retained. */
  | { readonly state: 'connecting' }
  /** All that was retained has been heard. */
  | { readonly state: 'live' }
  /** The broker of the topics is away. */
  | { readonly state: 'reconnecting'; readonly cause: StateStoreError }
  /** Over; `cause` if not by `close()`. */
  | { readonly state: 'closed'; readonly cause: StateStoreError | undefined }

/** What a sync has done so far. */
export interface RetainedStats {
  /** Topics that are known. */
  readonly topics: number
  /** Keys written or deleted. */
  readonly written: number
  /** Messages published. */
  readonly published: number
}
