import { fromHex, fromUtf8 } from '../../../src/core/util/bytes.js'

export interface ListedKey {
  /** The key in Base16. */
  readonly id: string
  /** The key as text, or as `0x` and Base16 if it is not UTF-8. */
  readonly name: string
  readonly binary: boolean
}

export function toListedKey(id: string): ListedKey {
  const bytes = fromHex(id) ?? new Uint8Array()
  try {
    return { id, name: fromUtf8(bytes), binary: false }
  } catch {
    return { id, name: `0x${id}`, binary: true }
  }
}

/** Returns the key in the form that the library expects. */
export const libraryKey = ({ id, name, binary }: ListedKey): string | Uint8Array =>
  binary ? (fromHex(id) ?? new Uint8Array()) : name

const BY_NAME = new Intl.Collator('en', { numeric: true })

/** Sorts keys by name, with `line-9` before `line-10`. */
export const sortByName = (keys: readonly ListedKey[]): readonly ListedKey[] =>
  Array.from(keys).sort((a, b) => BY_NAME.compare(a.name, b.name) || (a.id < b.id ? -1 : 1))
