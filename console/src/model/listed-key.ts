import { fromHex, fromUtf8 } from '../../../src/core/util/bytes.js'

/** A key of the list. */
export interface ListedKey {
  /** Base16 of its bytes. */
  readonly id: string
  /** The key as text; as `0x` and Base16 unless it is UTF-8. */
  readonly name: string
  readonly binary: boolean
}

/** The key of an id. */
export function listed(id: string): ListedKey {
  const bytes = fromHex(id) ?? new Uint8Array()
  try {
    return { id, name: fromUtf8(bytes), binary: false }
  } catch {
    // A key need not be UTF-8.
    return { id, name: `0x${id}`, binary: true }
  }
}

/** What the library takes for the key. */
export const nameFor = ({ id, name, binary }: ListedKey): string | Uint8Array =>
  binary ? (fromHex(id) ?? new Uint8Array()) : name

const BY_NAME = new Intl.Collator('en', { numeric: true })

/** In the order of their names, `line-9` before `line-10`. */
export const inOrder = (keys: readonly ListedKey[]): readonly ListedKey[] =>
  Array.from(keys).sort((a, b) => BY_NAME.compare(a.name, b.name) || (a.id < b.id ? -1 : 1))
