import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Command, encodeCommand, type SetCommand, type SetCondition } from '../../../src/core/protocol/commands.js'
import { CommandError, parseCommand } from '../../../src/core/protocol/parse-command.js'
import { encodeArray } from '../../../src/core/resp3/encode.js'
import { fromUtf8, utf8 } from '../../../src/core/util/bytes.js'
import { effort } from '../../support/effort.js'

const LARGEST = Number.MAX_SAFE_INTEGER
const NOT_UTF8 = Uint8Array.of(0xff, 0xfe)

/** Encodes a request. A string stands for its UTF-8 bytes. */
const request = (...words: (string | Uint8Array)[]): Uint8Array =>
  encodeArray(words.map(word => (typeof word === 'string' ? utf8(word) : word)))

const refusal = (code: string): unknown => expect.objectContaining({ name: 'CommandError', code })

const set = (options: Partial<SetCommand> = {}): SetCommand => ({
  verb: 'SET',
  key: utf8('k'),
  value: utf8('v'),
  condition: undefined,
  px: undefined,
  ...options,
})
const NX: SetCondition = { type: 'NX' }
const nex = (comparand?: string): SetCondition => ({
  type: 'NEX',
  comparand: comparand === undefined ? undefined : utf8(comparand),
})

const anyBytes = fc.uint8Array({ maxLength: 24 })
// Protocol keywords are also valid keys, values and comparands.
const anyWord = fc.constantFrom('NX', 'NEX', 'PX', '5', '0', '-1', 'STOP', 'SET', 'GET', '').map(utf8)
const anyData = fc.oneof(anyBytes, anyWord)
const anyKey = anyData.filter(key => key.length > 0)
const anyCondition = fc.option(
  fc.oneof(
    fc.constant(NX),
    fc.option(anyData, { nil: undefined }).map((comparand): SetCondition => ({ type: 'NEX', comparand })),
  ),
  { nil: undefined },
)
const anyPx = fc.option(fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: LARGEST })), {
  nil: undefined,
})
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ verb: fc.constant('SET'), key: anyKey, value: anyData, condition: anyCondition, px: anyPx }),
  fc.record({ verb: fc.constantFrom('GET', 'DEL'), key: anyKey }),
  fc.record({ verb: fc.constant('VDEL'), key: anyKey, value: anyData }),
  fc.record({ verb: fc.constant('KEYNOTIFY'), key: anyKey, stop: fc.boolean() }),
  fc.record({ verb: fc.constant('GLOBNOTIFY'), glob: anyKey, stop: fc.boolean() }),
  fc.record({ verb: fc.constant('SCAN'), glob: anyData, token: fc.option(anyData, { nil: undefined }) }),
)

describe('encodeCommand', () => {
  it.each<[Command, string]>([
    [set({ key: utf8('SETKEY2'), value: utf8('VALUE5') }), '*3\r\n$3\r\nSET\r\n$7\r\nSETKEY2\r\n$6\r\nVALUE5\r\n'],
    [set({ condition: NX }), '*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nNX\r\n'],
    [set({ condition: nex() }), '*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$3\r\nNEX\r\n'],
    [set({ condition: nex('w') }), '*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$3\r\nNEX\r\n$1\r\nw\r\n'],
    [set({ px: 10_000 }), '*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nPX\r\n$5\r\n10000\r\n'],
    [
      set({ condition: nex(), px: 10_000 }),
      '*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$3\r\nNEX\r\n$2\r\nPX\r\n$5\r\n10000\r\n',
    ],
    [{ verb: 'GET', key: utf8('SETKEY2') }, '*2\r\n$3\r\nGET\r\n$7\r\nSETKEY2\r\n'],
    [{ verb: 'DEL', key: utf8('SETKEY2') }, '*2\r\n$3\r\nDEL\r\n$7\r\nSETKEY2\r\n'],
    [{ verb: 'VDEL', key: utf8('SETKEY2'), value: utf8('ABC') }, '*3\r\n$4\r\nVDEL\r\n$7\r\nSETKEY2\r\n$3\r\nABC\r\n'],
    [{ verb: 'KEYNOTIFY', key: utf8('SOMEKEY'), stop: false }, '*2\r\n$9\r\nKEYNOTIFY\r\n$7\r\nSOMEKEY\r\n'],
    [
      { verb: 'KEYNOTIFY', key: utf8('SOMEKEY'), stop: true },
      '*3\r\n$9\r\nKEYNOTIFY\r\n$7\r\nSOMEKEY\r\n$4\r\nSTOP\r\n',
    ],
    [{ verb: 'SCAN', glob: utf8('a*'), token: undefined }, '*2\r\n$4\r\nSCAN\r\n$2\r\na*\r\n'],
    [{ verb: 'SCAN', glob: utf8('a*'), token: utf8('t') }, '*3\r\n$4\r\nSCAN\r\n$2\r\na*\r\n$1\r\nt\r\n'],
  ])('encodes command %# as the protocol defines', (command, payload) => {
    expect(fromUtf8(encodeCommand(command))).toBe(payload)
  })

  it('parseCommand restores any command, including binary keys and values like options', () => {
    fc.assert(
      fc.property(anyCommand, command => {
        expect(parseCommand(encodeCommand(command))).toEqual(command)
      }),
      { numRuns: effort(2_000, 200) },
    )
  })
})

describe('parseCommand', () => {
  it('parses SET, GET, DEL, VDEL, KEYNOTIFY, GLOBNOTIFY and SCAN', () => {
    const key = utf8('k')
    expect(parseCommand(request('SET', 'k', 'v'))).toEqual(set())
    expect(parseCommand(request('GET', 'k'))).toEqual({ verb: 'GET', key })
    expect(parseCommand(request('DEL', 'k'))).toEqual({ verb: 'DEL', key })
    expect(parseCommand(request('VDEL', 'k', 'v'))).toEqual({ verb: 'VDEL', key, value: utf8('v') })
    expect(parseCommand(request('KEYNOTIFY', 'k'))).toEqual({ verb: 'KEYNOTIFY', key, stop: false })
    expect(parseCommand(request('KEYNOTIFY', 'k', 'STOP'))).toEqual({ verb: 'KEYNOTIFY', key, stop: true })
    expect(parseCommand(request('GLOBNOTIFY', 'k'))).toEqual({ verb: 'GLOBNOTIFY', glob: key, stop: false })
    expect(parseCommand(request('GLOBNOTIFY', 'k', 'STOP'))).toEqual({ verb: 'GLOBNOTIFY', glob: key, stop: true })
    expect(parseCommand(request('SCAN', 'k'))).toEqual({ verb: 'SCAN', glob: key, token: undefined })
    expect(parseCommand(request('SCAN', '', ''))).toEqual({ verb: 'SCAN', glob: utf8(''), token: utf8('') })
  })

  it('parses keys and values that are not text', () => {
    const command = parseCommand(request('SET', NOT_UTF8, Uint8Array.of(0, 13, 10, 255)))
    expect(command).toEqual(set({ key: NOT_UTF8, value: Uint8Array.of(0, 13, 10, 255) }))
  })

  it('distinguishes an empty value from a missing one', () => {
    expect(parseCommand(request('SET', 'k', ''))).toEqual(set({ value: utf8('') }))
    expect(parseCommand(request('VDEL', 'k', ''))).toMatchObject({ verb: 'VDEL', value: utf8('') })
  })

  it('treats protocol keywords as keys and values where keys and values are expected', () => {
    expect(parseCommand(request('SET', 'SET', 'NX'))).toEqual(set({ key: utf8('SET'), value: utf8('NX') }))
    expect(parseCommand(request('KEYNOTIFY', 'STOP'))).toMatchObject({ key: utf8('STOP'), stop: false })
  })

  it.each<[string, Pick<SetCommand, 'condition' | 'px'>]>([
    ['NX', { condition: NX, px: undefined }],
    ['NEX', { condition: nex(), px: undefined }],
    ['PX 1', { condition: undefined, px: 1 }],
    ['PX 0010', { condition: undefined, px: 10 }],
    [`PX ${LARGEST}`, { condition: undefined, px: LARGEST }],
    ['NX PX 5', { condition: NX, px: 5 }],
    ['PX 5 NX', { condition: NX, px: 5 }],
    ['PX 5 NEX', { condition: nex(), px: 5 }],
    ['PX 5 NEX w', { condition: nex('w'), px: 5 }],
    ['NEX w', { condition: nex('w'), px: undefined }],
    ['NEX w PX 5', { condition: nex('w'), px: 5 }],
    // A word after NEX is an option if the rest is then valid, and otherwise the comparand.
    ['NEX PX 1000', { condition: nex(), px: 1000 }],
    ['NEX PX', { condition: nex('PX'), px: undefined }],
    ['NEX PX PX 5', { condition: nex('PX'), px: 5 }],
    ['NEX NX', { condition: nex('NX'), px: undefined }],
    ['NEX NX PX 5', { condition: nex('NX'), px: 5 }],
    ['NEX NEX', { condition: nex('NEX'), px: undefined }],
    ['NEX NEX PX 5', { condition: nex('NEX'), px: 5 }],
    ['NEX 5', { condition: nex('5'), px: undefined }],
    ['PX 5 NEX PX', { condition: nex('PX'), px: 5 }],
    ['PX 5 NEX NX', { condition: nex('NX'), px: 5 }],
    ['NEX nx', { condition: nex('nx'), px: undefined }],
  ])('parses SET k v %s', (options, expected) => {
    expect(parseCommand(request('SET', 'k', 'v', ...options.split(' ')))).toEqual(set(expected))
  })

  it('parses empty and non-text bytes as the comparand of NEX', () => {
    expect(parseCommand(request('SET', 'k', 'v', 'NEX', ''))).toEqual(set({ condition: nex('') }))
    expect(parseCommand(request('SET', 'k', 'v', 'NEX', NOT_UTF8, 'PX', '5'))).toEqual(
      set({ condition: { type: 'NEX', comparand: NOT_UTF8 }, px: 5 }),
    )
  })

  it.each([
    'NX NX',
    'NX NEX',
    'NX NEX w',
    'NEX w NX',
    'NEX w NEX',
    'NEX w NEX w',
    'NEX w w',
    'NEX NX NX',
    'PX 5 PX 5',
    'NEX PX 5 PX 5',
    'PX 5 NEX PX 5',
    'PX',
    'NX PX',
    'NEX w PX',
    'PX NX',
    'PX 0',
    'PX 000',
    'NEX PX 0',
    'PX -1',
    'NX PX -5',
    'PX +5',
    'PX 0.5',
    'PX 5.0',
    'PX 1e3',
    'PX 0x10',
    'PX 5ms',
    'PX \u0665',
    `PX ${LARGEST + 1}`,
    'PX 18446744073709551616',
    'PX 99999999999999999999999',
    'EX 5',
    'XX',
    'GET',
    'KEEPTTL',
    'nx',
    'nex',
    'px 5',
    'Nx',
    'w',
  ])('throws a syntax error for SET k v %s', options => {
    expect(() => parseCommand(request('SET', 'k', 'v', ...options.split(' ')))).toThrow(refusal('syntax-error'))
  })

  it.each([
    ['an empty option', ['']],
    ['an option that is not text', [NOT_UTF8]],
    ['an empty time to live', ['PX', '']],
    ['a time to live that is not text', ['PX', NOT_UTF8]],
    ['spaces around the time to live', ['PX', ' 5']],
    ['a line end after the time to live', ['PX', '5\n']],
  ])('throws a syntax error for %s', (_, options) => {
    expect(() => parseCommand(request('SET', 'k', 'v', ...options))).toThrow(refusal('syntax-error'))
  })

  it.each(['stop', 'START', '', 'STOP '])('throws a syntax error for KEYNOTIFY k %j', option => {
    expect(() => parseCommand(request('KEYNOTIFY', 'k', option))).toThrow(refusal('syntax-error'))
  })

  it('rejects a verb that is not text', () => {
    expect(() => parseCommand(request(NOT_UTF8, 'k'))).toThrow(refusal('unknown-command'))
    expect(() => parseCommand(request(Uint8Array.of(0x47, 0x45, 0x54, 0xff), 'k'))).toThrow(refusal('unknown-command'))
  })

  it('reports a malformed command rather than an empty key if both occur', () => {
    expect(() => parseCommand(request('GET', '', 'v'))).toThrow(refusal('wrong-argument-count'))
    expect(() => parseCommand(request('SET', '', 'v', 'PX', '0'))).toThrow(refusal('syntax-error'))
    expect(() => parseCommand(request('get', ''))).toThrow(refusal('unknown-command'))
  })

  it('throws only CommandError for any words', () => {
    const anyWords = fc.array(
      fc.oneof(anyData, fc.constantFrom('SET', 'VDEL', 'KEYNOTIFY', 'NEX', 'PX', 'PX').map(utf8)),
      { maxLength: 10 },
    )
    fc.assert(
      fc.property(fc.constantFrom('SET', 'GET', 'DEL', 'VDEL', 'KEYNOTIFY', 'FOO'), anyWords, (verb, words) => {
        let command: Command
        try {
          command = parseCommand(request(verb, ...words))
        } catch (error) {
          expect(error).toBeInstanceOf(CommandError)
          return
        }
        expect(command).toMatchObject({ verb, key: words[0] })
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it('SET with any options survives encoding and parsing', () => {
    const anyOptions = fc.array(fc.constantFrom('NX', 'NEX', 'PX', '5', '0', 'w', ''), { maxLength: 6 })
    fc.assert(
      fc.property(anyOptions, options => {
        let command: Command
        try {
          command = parseCommand(request('SET', 'k', 'v', ...options))
        } catch (error) {
          expect(error).toMatchObject({ name: 'CommandError', code: 'syntax-error' })
          return
        }
        expect(parseCommand(encodeCommand(command))).toEqual(command)
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it('rejects ten thousand options', () => {
    const options = Array.from({ length: 10_000 }, (_, i) => (i % 2 === 0 ? 'NEX' : 'PX'))
    expect(() => parseCommand(request('SET', 'k', 'v', ...options))).toThrow(refusal('syntax-error'))
  })
})

describe('CommandError', () => {
  it('has the error code for the reply', () => {
    expect(new CommandError('key-empty')).toMatchObject({ name: 'CommandError', code: 'key-empty' })
    expect(new CommandError('key-empty')).toBeInstanceOf(Error)
  })
})
