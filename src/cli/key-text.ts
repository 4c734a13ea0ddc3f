import { fromUtf8, isWellFormed, utf8 } from '../core/util/bytes.js'
import { EXIT, Failure } from './failure.js'
import type { Io } from './io.js'
import { isUnsafe } from './terminal.js'
import { allOf, STANDARD_STREAM } from './value.js'

/** A key of the command line: text, or bytes that are not text. */
export type KeyArgument = string | Uint8Array

// A word that begins with `=` is a command's path to zsh, with `~` a home, with `#` nothing.
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/
const QUOTED = /^\$'((?:[^'\\]|\\x[0-9A-Fa-f]{2}|\\[nrt'\\])*)'$/
const ESCAPE = /\\(?:x([0-9A-Fa-f]{2})|(.))/g
/** What Node makes of bytes of a word that are not text, so that a word with it may have been any other. */
const REPLACEMENT = '\uFFFD'
const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/**
 * A key as a word for the shell, which {@link keyOfWord} reads once the shell did: of a POSIX shell, but with what does not
 * print as one of bash and zsh, `$'two\nlines'`. What no shell can hand over, as bytes that are not text, is left to us.
 */
export function shellWord(key: KeyArgument): string {
  const text = textOf(key)
  if (text === undefined || text.startsWith('-') || QUOTED.test(text)) return quotedForUs(key)
  if (text.includes('\0') || text.includes(REPLACEMENT)) return quotedForUs(key)
  if (isUnsafe(text)) return ansiQuoted(key)
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** A key as a line that {@link keyOfLine} reads: as it is, but for what does not print or would pass for a quoted one. */
export function keyLine(key: KeyArgument): string {
  const text = textOf(key)
  return text === undefined || isUnsafe(text) || QUOTED.test(text) ? ansiQuoted(key) : text
}

/** The key of a line of `keys`. */
export function keyOfLine(line: string): KeyArgument {
  const [, quoted] = QUOTED.exec(line) ?? []
  if (quoted === undefined) return line
  const binary = Buffer.from(quoted, 'utf8').toString('latin1')
  const bytes = Buffer.from(
    binary.replace(ESCAPE, (_, hex?: string, letter = '') =>
      hex === undefined ? (LETTERS[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
    ),
    'latin1',
  )
  return textOf(bytes) ?? new Uint8Array(bytes)
}

/** The keys of a command's words, of which a `-` stands for the lines of standard input. */
export async function keysOf(words: readonly string[], io: Io): Promise<readonly KeyArgument[]> {
  const keys: KeyArgument[] = []
  for (const word of words) {
    if (word === STANDARD_STREAM) keys.push(...linesOf(await allOf(io.stdin)).map(keyOfLine))
    else keys.push(keyOfWord(word))
  }
  if (keys.length === 0) throw new Failure(EXIT.notMet, 'no key on standard input')
  return keys
}

/** The key of bytes: text, where they are text. */
export const keyOfBytes = (bytes: Uint8Array): KeyArgument => textOf(bytes) ?? bytes

/** How a key is called in a message: text as it is. */
export const nameOf = (key: KeyArgument): string => (typeof key === 'string' ? key : ansiQuoted(key))

/** Whether a word is a key in the form for what is not text, and so no glob. */
export const isQuoted = (word: string): boolean => QUOTED.test(word)

/** The key of a command's word: as it is, or bytes in the form `$'\xFF\x00'`. */
export function keyOfWord(word: string): KeyArgument {
  if (!word.includes(REPLACEMENT)) return keyOfLine(word)
  throw new Failure(
    EXIT.usage,
    `a key that is not text is written as ${quotedForUs(Uint8Array.of(255, 0))}, as \`keys\` prints it on a terminal`,
  )
}

function linesOf(input: Uint8Array): readonly string[] {
  try {
    return fromUtf8(input)
      .split(/\r?\n/)
      .filter(line => line !== '')
  } catch (cause) {
    throw new Failure(EXIT.usage, 'the keys on standard input must be text, one per line, as `keys` prints them', {
      cause,
    })
  }
}

function textOf(key: KeyArgument): string | undefined {
  if (typeof key === 'string') return isWellFormed(key) ? key : undefined
  try {
    return fromUtf8(key)
  } catch {
    // Any bytes are a legal key.
    return undefined
  }
}

/** The shell takes the outer quotes away, and must find nothing in them to do. */
function quotedForUs(key: KeyArgument): string {
  const inner = ansiQuoted(key).replaceAll('!', '\\x21')
  return `"${inner.replace(/\\\\|[$`"]/g, found => (found.length === 2 ? '\\\\\\\\' : `\\${found}`))}"`
}

function ansiQuoted(key: KeyArgument): string {
  const text = textOf(key)
  const pieces =
    text === undefined ? Array.from(typeof key === 'string' ? utf8(key) : key, byteEscape) : Array.from(text, escaped)
  return `$'${pieces.join('')}'`
}

function escaped(char: string): string {
  const letter = Object.entries(LETTERS).find(([, value]) => value === char)?.[0]
  if (letter !== undefined) return `\\${letter}`
  if (char === "'" || char === '\\') return `\\${char}`
  return isUnsafe(char) || char === REPLACEMENT ? Array.from(utf8(char), byteEscape).join('') : char
}

const byteEscape = (byte: number): string => `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`
