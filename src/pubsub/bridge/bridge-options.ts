import type { Codec } from '../../client/keys/codec.js'
import { json } from '../../client/keys/json.js'
import { checkArgument, checkFunction, checkOptionNames } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import type { Connection } from '../hub/identity.js'
import { isName } from '../wire/rules.js'
import { exactIfDefault } from './codecs.js'

/** The hub session that reads or writes a key. */
export type BridgeClient = Pick<Connection, 'connectionId' | 'userId' | 'owner'>

/** The effect of a client's event on a key. */
export type WriteOperation = 'set' | 'delete'

/** The options of `bridge`: which keys clients read and write, and how. */
export interface BridgeOptions {
  /**
   * The prefix of the names of groups and events. Default: `key:`, as in `key:thermostat1/setPoint` and `key:set`. The
   * prefix must not begin with the prefix of another bridge of the same hub.
   */
  readonly prefix?: string | undefined
  /**
   * Converts values to JSON and back: one codec for all keys, or a function that returns a codec for each key. Default:
   * `json()`, which passes values between client and store character by character. A stored value that cannot be
   * decoded reaches clients as an entry with `op: 'invalid'`. Use `text` or `base64` for values that are not JSON.
   */
  readonly codec?: Codec<unknown> | ((key: string) => Codec<unknown>) | undefined
  /**
   * Returns whether a client may join a key's group, regardless of its roles. Default: clients whose roles allow
   * it. Called when a client joins, but not for groups to which its access token or the application added it. If the
   * function throws, the client is denied.
   */
  readonly read?: ((client: BridgeClient, key: string) => boolean) | undefined
  /**
   * Returns whether a client may write a key. Default: no client may. Called for every write. If the function throws,
   * the write is denied.
   */
  readonly write?: ((client: BridgeClient, key: string, operation: WriteOperation) => boolean) | undefined
}

export interface CheckedBridgeOptions {
  readonly prefix: string
  readonly codecFor: (key: string) => Codec<unknown>
  readonly read: BridgeOptions['read']
  readonly write: NonNullable<BridgeOptions['write']>
}

const MAX_PREFIX_LENGTH = 100

/** Applies the defaults. Throws {@link ArgumentError} for invalid options. */
export function checkBridgeOptions(options: BridgeOptions): CheckedBridgeOptions {
  const { prefix = 'key:', codec = json<unknown>(), read, write = () => false } = options
  checkOptionNames('bridge', options, { prefix, codec, read, write })
  checkArgument(
    isName(prefix) && prefix.length <= MAX_PREFIX_LENGTH,
    `\`prefix\` to be 1 to ${MAX_PREFIX_LENGTH} characters, not blank`,
    prefix,
  )
  if (read !== undefined) checkFunction('read', read)
  checkFunction('write', write)
  const codecFor = typeof codec === 'function' ? codec : () => codec
  return { prefix, codecFor: key => exactIfDefault(codecFor(key)), read, write }
}
