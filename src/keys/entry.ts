import { DecodeError, type StateStoreError } from '../errors.js'
import type { Hlc } from '../hlc/hlc.js'
import type { Codec } from './codec.js'
import type { RawEntry } from './reconcile.js'

/**
 * What is known of a key at a time. `op` is `set` for a value, `delete` for a deletion that was notified, `absent` when
 * a read found no key, `invalid` for a value the codec cannot decode. `source` says where it comes from: the first read,
 * a notification, or the read after a reconnect.
 */
export type Entry<T> =
  | (EntryBase & { readonly op: 'set'; readonly value: T })
  | (EntryBase & { readonly op: 'delete' | 'absent'; readonly value: undefined })
  | (EntryBase & { readonly op: 'invalid'; readonly value: undefined; readonly error: DecodeError })

interface EntryBase {
  readonly key: string
  /** Missing for an absent key: the protocol gives it none. */
  readonly version: Hlc | undefined
  readonly source: 'snapshot' | 'notification' | 'resync'
}

/** Turns what a watch knows into entries with values. */
export class EntryDecoder<T> {
  readonly #key: string
  readonly #codec: Codec<T>
  readonly #report: (error: StateStoreError) => void
  #last: { readonly raw: RawEntry; readonly entry: Entry<T> } | undefined = undefined

  constructor(key: string, codec: Codec<T>, report: (error: StateStoreError) => void) {
    this.#key = key
    this.#codec = codec
    this.#report = report
  }

  /** Decodes once per entry, however many subscribers there are. */
  entry(raw: RawEntry): Entry<T> {
    if (this.#last?.raw !== raw) this.#last = { raw, entry: this.#decode(raw) }
    return this.#last.entry
  }

  /** The value of stored bytes. Raises {@link DecodeError} for whatever the codec throws. */
  value(bytes: Uint8Array, version: Hlc | undefined): T {
    try {
      return this.#codec.decode(bytes)
    } catch (cause) {
      throw new DecodeError(this.#key, version?.toString(), cause)
    }
  }

  #decode({ op, value, version, source }: RawEntry): Entry<T> {
    const key = this.#key
    if (op !== 'set' || value === undefined) {
      return { key, op: op === 'delete' ? op : 'absent', value: undefined, version, source }
    }
    try {
      return { key, op, value: this.value(value, version), version, source }
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.#report(error)
      return { key, op: 'invalid', value: undefined, error, version, source }
    }
  }
}
