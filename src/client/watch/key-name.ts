import type { KeyName } from '../../core/protocol/commands.js'
import { isBytes } from '../../core/util/built-in-types.js'
import { fromHex, fromUtf8, isWellFormed, toHex, utf8 } from '../../core/util/bytes.js'
import { checkArgument } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'

/**
 * Converts a name to a key. Throws {@link ArgumentError} unless the name is non-empty, well-formed text or non-empty
 * bytes.
 */
export function toKeyName(name: string | Uint8Array): KeyName {
  checkName('the key', name)
  if (typeof name === 'string') return new TextName(name)
  const bytes = new Uint8Array(name)
  return { bytes, id: toHex(bytes), text: displayName(bytes) }
}

export function checkName(what: string, name: string | Uint8Array, hint = ''): void {
  checkArgument(typeof name === 'string' || isBytes(name), `${what} to be a string or a Uint8Array`, name)
  if (name.length === 0) throw new ArgumentError(`Expected ${what} to have at least one byte${hint}`)
  if (typeof name === 'string' && !isWellFormed(name))
    throw new ArgumentError(`Expected ${what} to be well-formed text, got ${JSON.stringify(name)}`)
}

/** Returns the key of an id (its bytes in hex), or `undefined` if the id is malformed. */
export function keyFromId(id: string): KeyName | undefined {
  const bytes = fromHex(id)
  return bytes && bytes.length > 0 ? { bytes, id, text: displayName(bytes) } : undefined
}

/** A key that was given as text. Keeps no bytes, to save memory: a client may hold thousands of names. */
class TextName implements KeyName {
  readonly text: string
  readonly id: string

  constructor(text: string) {
    this.text = text
    this.id = toHex(utf8(text))
  }

  get bytes(): Uint8Array {
    return utf8(this.text)
  }
}

/** Formats a key as text, or as `0x` and hex if it is not UTF-8. */
function displayName(name: Uint8Array): string {
  try {
    return fromUtf8(name)
  } catch {
    return `0x${toHex(name)}`
  }
}
