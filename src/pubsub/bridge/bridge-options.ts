import type { Codec } from '../../client/keys/codec.js'
import { json } from '../../client/keys/json.js'
import { checkFunction, checkOptionNames } from '../../core/util/check.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { Connection } from '../hub/identity.js'
import { isName } from '../wire/rules.js'
import { exactIfPlain } from './codecs.js'

/** The client that reads or writes a key: one of its sessions. */
export type BridgeClient = Pick<Connection, 'connectionId' | 'userId' | 'owner'>

/** What a client does to a key. */
export type WriteOperation = 'set' | 'delete'

/** Options of `bridge`. */
export interface BridgeOptions {
  /**
   * What the names of groups and events begin with. Default `key:`, as in `key:thermostat1/setPoint` and `key:set`. Of several
   * bridges of a hub none may have a prefix that begins with another's.
   */
  readonly prefix?: string | undefined
  /**
   * How values become JSON and come back: one codec for all keys, or one for each. Default `json()`, with which they go
   * from client to store and back character by character; what is stored and does not decode reaches clients as an entry
   * with `op: 'invalid'`. `text` and `base64` are for anything else.
   */
  readonly codec?: Codec<unknown> | ((key: string) => Codec<unknown>) | undefined
  /**
   * Who may join the group of a key, whatever roles the client has. Default: clients whose roles allow it. Called when a
   * client joins; not for groups that its access token or the application put it into. An error refuses.
   */
  readonly read?: ((client: BridgeClient, key: string) => boolean) | undefined
  /** Who may write a key. Default no one. Called for every write; an error refuses. */
  readonly write?: ((client: BridgeClient, key: string, operation: WriteOperation) => boolean) | undefined
}

/** Options with nothing missing but `read`. */
export interface CheckedBridgeOptions {
  readonly prefix: string
  readonly codecOf: (key: string) => Codec<unknown>
  readonly read: BridgeOptions['read']
  readonly write: NonNullable<BridgeOptions['write']>
}

const LONGEST_PREFIX = 100

/** Fills in what is missing. Throws {@link ArgumentError} for what is wrong. */
export function checkBridgeOptions(options: BridgeOptions): CheckedBridgeOptions {
  const { prefix = 'key:', codec = json<unknown>(), read, write = () => false } = options
  checkOptionNames('bridge', options, { prefix, codec, read, write })
  if (!isName(prefix) || prefix.length > LONGEST_PREFIX) {
    throw new ArgumentError(
      `Expected \`prefix\` to be 1 to ${LONGEST_PREFIX} characters, not blank, got \`${formatValue(prefix).slice(0, 80)}\``,
    )
  }
  if (read !== undefined) checkFunction('read', read)
  checkFunction('write', write)
  const codecOf = typeof codec === 'function' ? codec : () => codec
  return { prefix, codecOf: key => exactIfPlain(codecOf(key)), read, write }
}
