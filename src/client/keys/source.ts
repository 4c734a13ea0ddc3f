import type { Observable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { DecodeError, type StateStoreError } from '../../core/util/errors.js'
import type { Store } from '../requests/commands.js'
import type { Entry } from '../watch/entry.js'
import type { Registry } from '../watch/registry.js'
import type { Warnings } from '../watch/warnings.js'
import type { RawEntry } from '../watch/watch-state.js'
import type { Codec } from './codec.js'

/** What keys need of their client. */
export interface KeyHost {
  readonly store: Store
  readonly registry: Registry
  /** Default of a request, ms. */
  readonly timeout: number
  readonly report: (error: StateStoreError) => void
  /** Tells developers once of what they hardly mean. */
  readonly warn: Warnings['warn']
  /** The state of the connection, at once and then with every change; completes when the client is closed. */
  readonly link$: Observable<{ readonly state: string }>
  /** Carried by every write that brings none of its own. */
  readonly fencingToken?: Hlc | undefined
  /** What has to be done before the client may close. */
  readonly farewells: Set<Farewell>
}

/**
 * Called when the client is closed on purpose, with whether it is connected; the client waits until the result completes.
 * A farewell is bounded in time and never errors.
 */
export type Farewell = (isConnected: boolean) => Observable<unknown>

/** Where the library finds what a key is made of; not for users. */
export const SOURCE: unique symbol = Symbol('source')

/** Where it finds what tells a watched glob from others; not for users. */
export const GLOB: unique symbol = Symbol('glob')

/** A key with its codec, where its client is: what a handle and its listeners share. */
export class KeySource<T> {
  readonly key: KeyName
  readonly codec: Codec<T>
  readonly host: KeyHost
  #raw: RawEntry | undefined = undefined
  #entry: Entry<T> | undefined = undefined

  constructor(key: KeyName, codec: Codec<T>, host: KeyHost) {
    this.key = key
    this.codec = codec
    this.host = host
  }

  /** Decodes what a watch knows, once however many subscribers there are. */
  entry(raw: RawEntry): Entry<T> {
    if (this.#entry === undefined || this.#raw !== raw) {
      this.#raw = raw
      this.#entry = this.decode(raw)
      if (this.#entry.op === 'invalid') this.host.report(this.#entry.error)
    }
    return this.#entry
  }

  /** The same, but decoded anew and without a word to anybody. */
  decode({ op, value, version, source }: RawEntry): Entry<T> {
    const key = this.key.text
    if (op !== 'set' || value === undefined) {
      return { key, op: op === 'delete' ? op : 'absent', value: undefined, version, source }
    }
    try {
      return { key, op, value: this.value(value, version), version, source }
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      return { key, op: 'invalid', value: undefined, error, version, source }
    }
  }

  /** The value of stored bytes. Raises {@link DecodeError} for whatever the codec throws. */
  value(bytes: Uint8Array, version: Hlc | undefined): T {
    try {
      return this.codec.decode(bytes)
    } catch (cause) {
      throw new DecodeError(this.key.text, version?.toString(), cause)
    }
  }
}
