import type { Hlc } from '../../core/hlc/hlc.js'
import type { DecodeError } from '../../core/util/errors.js'

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
