import { fromUtf8, isWellFormed, utf8 } from '../core/util/bytes.js'
import { EXIT, Failure } from './failure.js'
import type { Io } from './io.js'
import { isUnsafe } from './terminal.js'
import { allOf, STANDARD_STREAM } from './value.js'

/** A key: text, or bytes that are not text. */
export type KeyArgument = string | Uint8Array

// At the start of a word, zsh expands `=`, and shells expand `~` and ignore `#`.
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/
const QUOTED = /^\$'((?:[^'\\]|\\x[0-9A-Fa-f]{2}|\\[nrt'\\])*)'$/
const ESCAPE = /\\(?:x([0-9A-Fa-f]{2})|(.))/g
/** The character with which Node replaces invalid UTF-8 in arguments. An argument that contains it is ambiguous. */
const REPLACEMENT = '\uFFFD'
const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/**
 * Quotes a key for the shell, so that {@link keyOfWord} reads it back: in POSIX quotes, or as `$'two\nlines'` (bash,
 * zsh) if it has unprintable characters. Keys that a shell cannot pass to a program, such as invalid UTF-8, are quoted
 * twice.
 */
export function shellWord(key: KeyArgument): string {
  const text = textOf(key)
  if (text === undefined || text.startsWith('-') || QUOTED.test(text)) return quotedTwice(key)
  if (text.includes('\0') || text.includes(REPLACEMENT)) return quotedTwice(key)
  if (isUnsafe(text)) return ansiQuoted(key)
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Formats a key as a line for {@link keyOfLine}. The key is quoted only if it is unprintable or looks quoted. */
export function keyLine(key: KeyArgument): string {
  const text = textOf(key)
  return text === undefined || isUnsafe(text) || QUOTED.test(text) ? ansiQuoted(key) : text
}

/** Parses a line of the output of `keys`. */
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

/** Parses the keys among a command's arguments. `-` reads keys from standard input. */
export async function keysOf(args: readonly string[], io: Io): Promise<readonly KeyArgument[]> {
  const keys: KeyArgument[] = []
  for (const word of args) {
    if (word === STANDARD_STREAM) keys.push(...linesOf(await allOf(io.stdin)).map(keyOfLine))
    else keys.push(keyOfWord(word))
  }
  if (keys.length === 0) throw new Failure(EXIT.notMet, 'no keys on standard input')
  return keys
}

export const keyOfBytes = (bytes: Uint8Array): KeyArgument => textOf(bytes) ?? bytes

/** Formats a key for messages. */
export const nameOf = (key: KeyArgument): string => (typeof key === 'string' ? key : ansiQuoted(key))

/** Returns whether an argument is quoted as `$'...'`, and therefore not a glob. */
export const isQuoted = (word: string): boolean => QUOTED.test(word)

/**
 * Parses an argument, which is plain text, or bytes as `$'\xFF\x00'`. Throws {@link Failure} if the argument is
 * ambiguous.
 */
export function keyOfWord(word: string): KeyArgument {
  if (!word.includes(REPLACEMENT)) return keyOfLine(word)
  throw new Failure(
    EXIT.usage,
    `a key that is not text must be quoted as ${quotedTwice(Uint8Array.of(255, 0))}, as \`keys\` prints it on a terminal`,
  )
}

function linesOf(input: Uint8Array): readonly string[] {
  try {
    return fromUtf8(input)
      .split(/\r?\n/)
      .filter(line => line !== '')
  } catch (cause) {
    throw new Failure(EXIT.usage, 'keys on standard input must be text, one per line, in the format of `keys`', {
      cause,
    })
  }
}

function textOf(key: KeyArgument): string | undefined {
  if (typeof key === 'string') return isWellFormed(key) ? key : undefined
  try {
    return fromUtf8(key)
  } catch {
    // Bytes that are not text are a legal key.
    return undefined
  }
}

/** Adds double quotes with escapes around `$'...'`. The shell removes the quotes without expanding the text inside. */
function quotedTwice(key: KeyArgument): string {
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
