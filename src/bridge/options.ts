import { checkFunction } from '../check.js'
import { ArgumentError, shown } from '../errors.js'
import { type Codec, json } from '../keys/codec.js'
import type { Connection } from '../pubsub/hub/connection.js'

/** Whoever reads or writes a key: one session of a client. */
export type BridgeClient = Pick<Connection, 'connectionId' | 'userId'>

/** What a client does to a key. */
export type WriteOperation = 'set' | 'delete'

/** Options of `bridge`. */
export interface BridgeOptions {
  /** What the names of groups and events begin with. Default `key:`, as in `key:thermostat1\setPoint` and `key:set`. */
  readonly prefix?: string | undefined
  /**
   * How values become JSON and come back: one codec for all keys, or one for each. Default `json()`; what is stored and
   * does not decode reaches clients as an entry with `op: 'invalid'`. `text` and `base64` are for anything else.
   */
  readonly codec?: Codec<unknown> | ((key: string) => Codec<unknown>) | undefined
  /**
   * Who may join the group of a key, whatever roles the client has. Default: whose roles allow it. Asked when a client
   * joins; not for groups that its access token or the application put it into. One that raises an error refuses.
   */
  readonly read?: ((client: BridgeClient, key: string) => boolean) | undefined
  /** Who may write a key. Default nobody. Asked for every write; one that raises an error refuses. */
  readonly write?: ((client: BridgeClient, key: string, operation: WriteOperation) => boolean) | undefined
}

/** Options with nothing missing but `read`. */
export interface CheckedOptions {
  readonly prefix: string
  readonly codecOf: (key: string) => Codec<unknown>
  readonly read: BridgeOptions['read']
  readonly write: NonNullable<BridgeOptions['write']>
}

const LONGEST_PREFIX = 100

/** Fills in what is missing. Throws {@link ArgumentError} for what is wrong. */
export function checkOptions(options: BridgeOptions): CheckedOptions {
  const { prefix = 'key:', codec = json<unknown>(), read, write = () => false } = options
  if (typeof prefix !== 'string' || prefix.trim() === '' || prefix.length > LONGEST_PREFIX) {
    throw new ArgumentError(
      `Expected \`prefix\` to be 1 to ${LONGEST_PREFIX} characters, not blank, got \`${shown(prefix).slice(0, 80)}\``,
    )
  }
  if (read !== undefined) checkFunction('read', read)
  checkFunction('write', write)
  return { prefix, codecOf: typeof codec === 'function' ? codec : () => codec, read, write }
}
