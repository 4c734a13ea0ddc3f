import { Hlc } from '../hlc/hlc.js'
import { decode, decodeStrings } from '../resp3/decode.js'
import { displayText, sameBytes, toBinaryString, utf8 } from '../util/bytes.js'
import { HlcError, PayloadError } from '../util/errors.js'
import type { Command, SetCommand, WriteCommand } from './commands.js'
import { compileGlob, type Glob } from './glob.js'
import type { KnownServiceErrorCode } from './service-errors.js'

/** A malformed request. `code` is the error in the store's reply. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly code: KnownServiceErrorCode

  constructor(code: KnownServiceErrorCode) {
    super(code)
    this.code = code
  }
}

const MAX_GLOB_BYTES = 1_024

/** Compiles the glob of a request. Throws {@link CommandError} (`syntax-error`) for a glob of more than 1,024 bytes. */
export function compileRequestGlob(glob: Uint8Array): Glob {
  if (glob.length > MAX_GLOB_BYTES) throw new CommandError('syntax-error')
  return compileGlob(glob)
}

export const isWrite = (command: Command): command is WriteCommand =>
  command.verb === 'SET' || command.verb === 'DEL' || command.verb === 'VDEL'

export function parseCommand(payload: Uint8Array): Command {
  const words = readStrings(payload)
  const [verb, key] = words
  if (verb === undefined) throw new CommandError('syntax-error')
  const parse = parserOf(verb)
  if (parse === undefined) throw new CommandError('unknown-command')
  if (key === undefined) throw new CommandError('wrong-argument-count')
  const command = parse(key, words)
  // An empty glob is legal: it matches no key.
  if ('key' in command && key.length === 0) throw new CommandError('key-empty')
  return command
}

// Maximum number of items. No command has more than eight, and parsing millions before rejecting them would cost time
// and memory.
const MAX_ITEMS = 16

const MAX_COUNT_DIGITS = 18

/** Reads the number in `*number\r`. Returns 0 for any other beginning, which is rejected later. */
function declaredItems(payload: Uint8Array): number {
  let items = 0
  for (let at = 1; at <= MAX_COUNT_DIGITS && payload[0] === 0x2a; at++) {
    const digit = (payload[at] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return payload[at] === 0x0d ? items : 0
    items = 10 * items + digit
  }
  return 0
}

function readStrings(payload: Uint8Array): Uint8Array[] {
  try {
    const strings = decodeStrings(payload, MAX_ITEMS)
    if (strings !== undefined) return strings
    if (declaredItems(payload) > MAX_ITEMS) throw new CommandError('syntax-error')
    const array = decode(payload)
    if (array.type !== 'array') throw new CommandError('syntax-error')
    return array.items.map(item => {
      if (item.type !== 'blob' || item.bytes === null) throw new CommandError('syntax-error')
      return item.bytes
    })
  } catch (error) {
    throw error instanceof PayloadError ? new CommandError('syntax-error') : error
  }
}

/** Maximum length of keywords and numbers, which are ASCII. */
const MAX_WORD_BYTES = 16

const textOf = (bytes: Uint8Array): string => (bytes.length <= MAX_WORD_BYTES ? toBinaryString(bytes) : '')

const checkArgumentCount = (count: number, words: readonly Uint8Array[]): void => {
  if (words.length !== 2 + count) throw new CommandError('wrong-argument-count')
}

/** @param words - all words, including the verb and the key */
type Parser = (key: Uint8Array, words: readonly Uint8Array[]) => Command

const PARSE: Record<Command['verb'], Parser> = {
  SET: (key, words) => {
    const [, , value] = words
    if (value === undefined) throw new CommandError('wrong-argument-count')
    const { condition, px } = words.length === 3 ? NO_OPTIONS : parseSetOptions(words.slice(3))
    return { verb: 'SET', key, value, condition, px }
  },
  GET: (key, words) => {
    checkArgumentCount(0, words)
    return { verb: 'GET', key }
  },
  DEL: (key, words) => {
    checkArgumentCount(0, words)
    return { verb: 'DEL', key }
  },
  VDEL: (key, words) => {
    checkArgumentCount(1, words)
    const [, , value] = words
    if (value === undefined) throw new CommandError('wrong-argument-count')
    return { verb: 'VDEL', key, value }
  },
  KEYNOTIFY: (key, words) => ({ verb: 'KEYNOTIFY', key, stop: readStop(words) }),
  GLOBNOTIFY: (glob, words) => ({ verb: 'GLOBNOTIFY', glob, stop: readStop(words) }),
  SCAN: (glob, words) => {
    if (words.length > 3) throw new CommandError('wrong-argument-count')
    return { verb: 'SCAN', glob, token: words[2] }
  },
}

const PARSERS = Object.entries(PARSE).map(([verb, parse]) => ({ verb: utf8(verb), parse }))

// Verbs are upper case ("Case sensitivity"), so another case is an unknown command. Comparing bytes avoids creating a
// string to look up.
function parserOf(verb: Uint8Array): Parser | undefined {
  for (const parser of PARSERS) if (sameBytes(parser.verb, verb)) return parser.parse
  return undefined
}

function readStop(words: readonly Uint8Array[]): boolean {
  const [, , option] = words
  if (option === undefined) return false
  checkArgumentCount(1, words)
  if (textOf(option) !== 'STOP') throw new CommandError('syntax-error')
  return true
}

type SetOptions = Pick<SetCommand, 'condition' | 'px'>

const NO_OPTIONS: SetOptions = { condition: undefined, px: undefined }

// `NEX` may be followed by a comparand or by the next option, without a marker. The next word is an option if the rest
// then parses; otherwise it is the comparand.
function parseSetOptions(options: readonly Uint8Array[]): SetOptions {
  const parsed = readOptions(options, NO_OPTIONS)
  if (parsed === undefined) throw new CommandError('syntax-error')
  return parsed
}

function readOptions(options: readonly Uint8Array[], soFar: SetOptions): SetOptions | undefined {
  const [option, ...rest] = options
  if (option === undefined) return soFar
  switch (textOf(option)) {
    case 'NX':
      return soFar.condition ? undefined : readOptions(rest, { ...soFar, condition: { type: 'NX' } })
    case 'NEX':
      return soFar.condition ? undefined : readNex(rest, soFar)
    case 'IFVER':
      return soFar.condition ? undefined : readVersion(rest, soFar)
    case 'PX':
      return soFar.px === undefined ? readExpiry(rest, soFar) : undefined
    default:
      return undefined
  }
}

function readNex(rest: readonly Uint8Array[], soFar: SetOptions): SetOptions | undefined {
  const short = readOptions(rest, { ...soFar, condition: { type: 'NEX', comparand: undefined } })
  if (short !== undefined) return short
  const [comparand, ...afterComparand] = rest
  return comparand && readOptions(afterComparand, { ...soFar, condition: { type: 'NEX', comparand } })
}

function readVersion([text, ...rest]: readonly Uint8Array[], soFar: SetOptions): SetOptions | undefined {
  try {
    return text && readOptions(rest, { ...soFar, condition: { type: 'IFVER', version: Hlc.parse(displayText(text)) } })
  } catch (error) {
    if (error instanceof HlcError) return undefined
    throw error
  }
}

function readExpiry([digits, ...rest]: readonly Uint8Array[], soFar: SetOptions): SetOptions | undefined {
  const text = digits ? textOf(digits) : ''
  const px = Number(text)
  if (!/^[0-9]{1,16}$/.test(text) || px === 0 || !Number.isSafeInteger(px)) return undefined
  return readOptions(rest, { ...soFar, px })
}
