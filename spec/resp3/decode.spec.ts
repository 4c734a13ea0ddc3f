import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes, toBinaryString, utf8 } from '../../src/base/bytes.js'
import { PayloadError, ServiceError } from '../../src/base/errors.js'
import { encodeCommand } from '../../src/protocol/commands.js'
import { encodeNotification } from '../../src/protocol/encode-notification.js'
import { parseNotification } from '../../src/protocol/notifications.js'
import { CommandError, parseCommand } from '../../src/protocol/parse-command.js'
import { readConditional, readDeleted, readPage, readValue, readWatched } from '../../src/protocol/read-replies.js'
import { encodeReply } from '../../src/protocol/replies.js'
import { decode, decodeReply, type Resp3 } from '../../src/resp3/decode.js'
import { effort } from '../support/effort.js'

const LARGEST = Number.MAX_SAFE_INTEGER

/** The wire form of any value, written apart from the library's encoder, which needs flat arrays only. */
function wire(value: Resp3): Uint8Array {
  switch (value.type) {
    case 'array':
      return concatBytes([utf8(`*${value.items.length}\r\n`), ...value.items.map(wire)])
    case 'blob':
      if (value.bytes === null) return utf8('$-1\r\n')
      return concatBytes([utf8(`$${value.bytes.length}\r\n`), value.bytes, utf8('\r\n')])
    case 'simple':
      return utf8(`+${value.text}\r\n`)
    case 'error':
      return utf8(`-${value.text}\r\n`)
    case 'integer':
      return utf8(`:${value.value}\r\n`)
  }
}

const blob = (text: string): Resp3 => ({ type: 'blob', bytes: utf8(text) })
const integer = (value: number): Resp3 => ({ type: 'integer', value })
const array = (...items: Resp3[]): Resp3 => ({ type: 'array', items })
const nested = (depth: number, core: Resp3): Resp3 => (depth === 0 ? core : array(nested(depth - 1, core)))

// Bytes that mean something on the wire, so that blobs look like what surrounds them.
const wireByte = fc.constantFrom(...utf8('\r\n$*+-:019A'))
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 12 }),
  fc.array(wireByte, { maxLength: 12 }).map(bytes => Uint8Array.from(bytes)),
)
// Not empty: an empty line in an array is a case of its own, below.
const anyLine = fc.string({ unit: 'binary', maxLength: 8 }).filter(text => !/[\r\n]/.test(text))
const anyScalar: fc.Arbitrary<Resp3> = fc.oneof(
  fc.option(anyBytes).map((bytes): Resp3 => ({ type: 'blob', bytes })),
  anyLine.map((text): Resp3 => ({ type: 'simple', text })),
  anyLine.map((text): Resp3 => ({ type: 'error', text })),
  fc.maxSafeInteger().map(integer),
)
const anyValue = [1, 2, 3, 4].reduce<fc.Arbitrary<Resp3>>(
  inner =>
    fc.oneof(
      anyScalar,
      fc.array(inner, { maxLength: 4 }).map((items): Resp3 => array(...items)),
    ),
  anyScalar,
)

const SAMPLES: readonly (readonly [string, Resp3])[] = [
  ['+OK\r\n', { type: 'simple', text: 'OK' }],
  ['+\r\n', { type: 'simple', text: '' }],
  ['-ERR syntax error\r\n', { type: 'error', text: 'ERR syntax error' }],
  ['-1\r\n', { type: 'error', text: '1' }],
  [':0\r\n', integer(0)],
  [':1\r\n', integer(1)],
  [':-1\r\n', integer(-1)],
  [':9007199254740991\r\n', integer(LARGEST)],
  [':-9007199254740991\r\n', integer(-LARGEST)],
  ['$4\r\n1234\r\n', blob('1234')],
  ['$0\r\n\r\n', blob('')],
  ['$-1\r\n', { type: 'blob', bytes: null }],
  ['$4\r\n\r\n\r\n\r\n', blob('\r\n\r\n')],
  ['$5\r\n$-1\r\n\r\n', blob('$-1\r\n')],
  ['*0\r\n', array()],
  ['*2\r\n$3\r\nGET\r\n$7\r\nSETKEY2\r\n', array(blob('GET'), blob('SETKEY2'))],
  ['*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n', array(blob('SET'), blob('k'), blob(''))],
  ['*2\r\n:1\r\n*1\r\n$-1\r\n', array(integer(1), array({ type: 'blob', bytes: null }))],
  ['*2\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n$3\r\nTOK\r\n', array(array(blob('a'), blob('b')), blob('TOK'))],
]

const REFUSED = {
  'no CRLF': ['', '\r\n', '+OK\r', '+O\rK\r\n'],
  'unknown type': ['\r\r\n', 'OK\r\n', '%1\r\n', '_\r\n', '#t\r\n', ',1.5\r\n'],
  'too many': ['+OK\r\n\r\n', '+OK\r\n+OK\r\n', '$4\r\n1234\r\n\r\n', '$-1\r\n\r\n', '*1\r\n$1\r\na\r\n$1\r\nb\r\n'],
  'bad integer': [
    '',
    '-',
    '+1',
    ' 1',
    '1 ',
    '1.0',
    '1e3',
    '0x1',
    '--1',
    `${LARGEST + 1}`,
    `-${LARGEST + 1}`,
    '9'.repeat(20),
  ].map(digits => `:${digits}\r\n`),
  'bad length': ['', '-2', '-01', '+1', '1.0', ' 1', '0x1', '1e0', '?', '9'.repeat(16)]
    .map(digits => `$${digits}\r\na\r\n`)
    .concat('*-1\r\n', '*\r\n', '*1.0\r\n:1\r\n'),
  'truncated blob': [
    '$999999999999999\r\na\r\n',
    '$4294967297\r\na\r\n',
    '$4294967296\r\n\r\n',
    '$5\r\n1234',
    '*1\r\n$2147483647\r\na\r\n',
  ],
  'no CRLF after a blob': ['$3\r\n1234\r\n', '$4\r\n1234\r', '$4\r\n1234\n\r', '$4\r\n1234\n\n', '*1\r\n$1\r\nab\r\n'],
  'truncated array': ['*2147483647\r\n', '*999999999999999\r\n:0\r\n', '*4294967297\r\n:0\r\n', '*3\r\n$1\r\na\r\n'],
}
const REFUSALS = Object.entries(REFUSED).flatMap(([words, payloads]) =>
  payloads.map(payload => [payload, words] as const),
)

describe('decode', () => {
  it.each(SAMPLES)('reads %j', (payload, value) => {
    expect(decode(utf8(payload))).toEqual(value)
  })

  it('reads back any value that is written', () => {
    fc.assert(
      fc.property(anyValue, value => {
        expect(decode(wire(value))).toEqual(value)
      }),
      { numRuns: 500 },
    )
  })

  it.each(['+', '-'])('reads an array of empty lines after %j', type => {
    const empty: Resp3 = { type: type === '+' ? 'simple' : 'error', text: '' }
    expect(decode(utf8(`*1\r\n${type}\r\n`))).toEqual(array(empty))
    expect(decode(utf8(`*3\r\n${`${type}\r\n`.repeat(3)}`))).toEqual(array(empty, empty, empty))
  })

  it.each(REFUSALS)('raises PayloadError for %j: %s', (payload, words) => {
    expect(() => decode(utf8(payload))).toThrow(
      expect.objectContaining({ name: 'PayloadError', code: 'payload', message: expect.stringContaining(words) }),
    )
  })

  it('raises PayloadError when it is given no pieces at all', () => {
    expect(() => decode()).toThrow(PayloadError)
  })

  it('shows bytes of a line that are not UTF-8 as replacement characters', () => {
    expect(decode(new Uint8Array([0x2b, 0xff, 0x0d, 0x0a]))).toEqual({ type: 'simple', text: '\ufffd' })
  })

  it('reads four arrays within one another and refuses five', () => {
    expect(decode(wire(nested(4, integer(7))))).toEqual(nested(4, integer(7)))
    expect(decode(wire(nested(4, array())))).toEqual(nested(4, array()))
    expect(() => decode(wire(nested(5, integer(7))))).toThrow('nested too deep')
  })

  it('refuses a hundred thousand arrays within one another without exhausting the stack', () => {
    expect(() => decode(utf8('*1\r\n'.repeat(100_000)))).toThrow('nested too deep')
  })

  it('reads an array of a hundred thousand items', () => {
    const value = decode(utf8(`*100000\r\n${':7\r\n'.repeat(100_000)}`))
    expect(value.type === 'array' && value.items.length).toBe(100_000)
  })

  it('refuses every proper prefix of a valid payload, though the rest lies right behind it in memory', () => {
    const refusesPrefixes = (payload: Uint8Array): void => {
      for (let end = 0; end < payload.length; end++) {
        expect(() => decode(payload.subarray(0, end)), `the first ${end} bytes`).toThrow(PayloadError)
        expect(() => decode(payload.slice(0, end)), `a copy of the first ${end} bytes`).toThrow(PayloadError)
      }
    }
    for (const [payload] of SAMPLES) refusesPrefixes(utf8(payload))
    fc.assert(
      fc.property(anyValue, value => {
        refusesPrefixes(wire(value))
      }),
    )
  })

  it('reads the same value whatever lies around its input', () => {
    fc.assert(
      fc.property(anyValue, anyBytes, anyBytes, (value, before, after) => {
        const payload = wire(value)
        const around = concatBytes([before, payload, after])
        expect(decode(around.subarray(before.length, before.length + payload.length))).toEqual(value)
      }),
    )
  })

  it('gives views of a single piece, not copies', () => {
    const payload = utf8('*1\r\n$3\r\nold\r\n')
    const value = decode(payload)
    payload.set(utf8('new'), 8)
    expect(value).toEqual(array(blob('new')))
  })
})

describe('decode, given pieces', () => {
  const everyTwoWaySplit = (payload: Uint8Array, value: Resp3): void => {
    for (let cut = 0; cut <= payload.length; cut++) {
      expect(decode(payload.subarray(0, cut), payload.subarray(cut)), `cut at ${cut}`).toEqual(value)
    }
  }
  const byteByByte = (payload: Uint8Array): Uint8Array[] => Array.from(payload, (_, at) => payload.subarray(at, at + 1))

  it.each(SAMPLES)('reads %j in any two pieces and byte by byte', (payload, value) => {
    everyTwoWaySplit(utf8(payload), value)
    expect(decode(...byteByByte(utf8(payload)))).toEqual(value)
  })

  it('reads any value in any two pieces and byte by byte', () => {
    fc.assert(
      fc.property(anyValue, value => {
        everyTwoWaySplit(wire(value), value)
        expect(decode(...byteByByte(wire(value)))).toEqual(value)
      }),
    )
  })

  it('reads any value in any pieces, empty ones included', () => {
    fc.assert(
      fc.property(anyValue, fc.array(fc.nat(), { maxLength: 8 }), (value, places) => {
        const payload = wire(value)
        const cuts = [0, ...places.map(place => place % (payload.length + 1)), payload.length].sort((a, b) => a - b)
        expect(decode(...cuts.map((cut, i) => payload.subarray(cut, cuts[i + 1] ?? cut)))).toEqual(value)
      }),
      { numRuns: 500 },
    )
  })

  it('raises PayloadError when a piece is missing', () => {
    const payload = utf8('*1\r\n$4\r\n1234\r\n')
    expect(() => decode(payload.subarray(0, 5), payload.subarray(6))).toThrow(PayloadError)
  })
})

describe('decodeReply', () => {
  it.each(SAMPLES)('reads %j as decode does', (payload, value) => {
    expect(decodeReply(utf8(payload))).toEqual(value)
  })

  it.each([
    ['+OK', { type: 'simple', text: 'OK' }],
    ['-ERR syntax error', { type: 'error', text: 'ERR syntax error' }],
    ['-1', { type: 'error', text: '1' }],
    [':1', integer(1)],
    [':-1', integer(-1)],
    ['$4\r\n1234', blob('1234')],
    ['$0\r\n', blob('')],
    ['$-1', { type: 'blob', bytes: null }],
  ] as const)('reads %j, whose last CRLF is missing', (payload, value) => {
    expect(decodeReply(utf8(payload))).toEqual(value)
  })

  it.each(REFUSALS)('raises PayloadError for %j', payload => {
    expect(() => decodeReply(utf8(payload))).toThrow(PayloadError)
  })

  it('never reads past its input, even when a line end follows', () => {
    const around = utf8('$6\r\n1234\r\n:12\r\n')
    expect(() => decodeReply(around.subarray(0, 8))).toThrow(PayloadError)
    expect(decodeReply(around.subarray(10, 12))).toEqual(integer(1))
  })

  it('takes a prefix of a blob for nothing but the whole blob', () => {
    fc.assert(
      fc.property(anyBytes, bytes => {
        const payload = wire({ type: 'blob', bytes })
        for (let end = 0; end < payload.length - 2; end++) {
          // `$0` and `$0\r\n` are the empty blob without its line ends.
          if (bytes.length === 0 && end >= 2) continue
          expect(() => decodeReply(payload.subarray(0, end)), `the first ${end} bytes`).toThrow(PayloadError)
        }
        expect(decodeReply(payload.subarray(0, payload.length - 2))).toEqual({ type: 'blob', bytes })
      }),
    )
  })
})

describe('whatever arrives', () => {
  const INPUTS = effort(1_000_000, 100_000)

  /** Random 32-bit integers of a seed (mulberry32): a million inputs must neither be slow nor be lost. */
  function randomOf(seed: number): (below: number) => number {
    let state = seed
    return below => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) % below
    }
  }

  const key = utf8('key')
  const VALID = [
    ...SAMPLES.map(([payload]) => utf8(payload)),
    encodeCommand({ verb: 'SET', key, value: utf8('v\r\n'), condition: undefined, px: undefined }),
    encodeCommand({ verb: 'SET', key, value: key, condition: { type: 'NX' }, px: 1000 }),
    encodeCommand({ verb: 'SET', key, value: key, condition: { type: 'NEX', comparand: utf8('PX') }, px: 10 }),
    encodeCommand({ verb: 'GET', key }),
    encodeCommand({ verb: 'VDEL', key, value: utf8('') }),
    encodeCommand({ verb: 'KEYNOTIFY', key, stop: true }),
    encodeCommand({ verb: 'SCAN', glob: key, token: utf8('\r\n') }),
    encodeReply({ type: 'page', keys: [], token: undefined }),
    encodeReply({ type: 'page', keys: [key, utf8('\r\n')], token: undefined }),
    encodeReply({ type: 'page', keys: [key], token: utf8('*1\r\n') }),
    ...['21', '', '\r\n'].map(value => encodeNotification({ op: 'set', value: utf8(value) })),
    encodeNotification({ op: 'delete' }),
    ...['+OK', ':0', ':1', ':-1', '$2\r\n21', '-ERR the quota has been exceeded'].map(line => utf8(`${line}\r\n`)),
  ]
  const HOSTILE = [
    '$999999999999999\r\n',
    '*2147483647\r\n',
    '*4294967296\r\n',
    '$-2\r\n',
    '$-1\r\n',
    '*-1\r\n',
    '*1\r\n',
  ]
    .concat(['*1\r\n'.repeat(40), ':9007199254740993\r\n', '\r\n', '\r', '\n', '$', '*', '-', '\ufeff', 'NEX', 'PX'])
    .map(utf8)

  function mutate(payload: Uint8Array, other: Uint8Array, random: (below: number) => number): Uint8Array {
    const at = random(payload.length + 1)
    switch (random(6)) {
      case 0:
        return payload.slice(0, at)
      case 1: {
        const flipped = payload.slice()
        if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << random(8))
        return flipped
      }
      case 2:
        return concatBytes([payload.subarray(0, at), Uint8Array.of(random(256)), payload.subarray(at)])
      case 3:
        return concatBytes([payload.subarray(0, at), other.subarray(random(other.length + 1))])
      case 4:
        return concatBytes([payload.subarray(0, at), payload.subarray(at + 1 + random(4))])
      default: {
        const hostile = HOSTILE[random(HOSTILE.length)] ?? payload
        return concatBytes([payload.subarray(0, at), hostile, payload.subarray(at + random(3) * hostile.length)])
      }
    }
  }

  function input(random: (below: number) => number): Uint8Array {
    if (random(5) === 0) {
      // Random bytes, of every value or only of those that mean something on the wire.
      const alphabet = random(2) === 0 ? undefined : utf8('\r\n\r\n$*+-:0123')
      return Uint8Array.from({ length: random(24) }, () => alphabet?.[random(alphabet.length)] ?? random(256))
    }
    let payload = VALID[random(VALID.length)] ?? key
    for (let rounds = random(4); rounds > 0; rounds--) {
      payload = mutate(payload, VALID[random(VALID.length)] ?? key, random)
    }
    return payload
  }

  const isPayloadError = (error: unknown): boolean => error instanceof PayloadError
  const isCommandError = (error: unknown): boolean => error instanceof CommandError
  const isReplyError = (error: unknown): boolean => error instanceof PayloadError || error instanceof ServiceError
  type Reader = { name: string; read(bytes: Uint8Array): unknown; isOwn(error: unknown): boolean; accepted: number }
  const readers = (): Reader[] => [
    { name: 'decode', read: bytes => decode(bytes), isOwn: isPayloadError, accepted: 0 },
    { name: 'decodeReply', read: decodeReply, isOwn: isPayloadError, accepted: 0 },
    { name: 'parseCommand', read: parseCommand, isOwn: isCommandError, accepted: 0 },
    { name: 'parseNotification', read: parseNotification, isOwn: isPayloadError, accepted: 0 },
    { name: 'readConditional', read: bytes => readConditional(bytes, 'key'), isOwn: isReplyError, accepted: 0 },
    { name: 'readValue', read: bytes => readValue(bytes, 'key'), isOwn: isReplyError, accepted: 0 },
    { name: 'readDeleted', read: bytes => readDeleted(bytes, 'key'), isOwn: isReplyError, accepted: 0 },
    { name: 'readWatched', read: bytes => readWatched(bytes, 'key'), isOwn: isReplyError, accepted: 0 },
    { name: 'readPage', read: readPage, isOwn: isReplyError, accepted: 0 },
  ]

  it(`is read or refused with an error of the library, ${INPUTS} times`, () => {
    const { FUZZ_SEED = String(Math.floor(Math.random() * 2 ** 32)) } = process.env
    const random = randomOf(Number(FUZZ_SEED))
    const all = readers()
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0 // Most inputs are refused, and stacks are what errors cost.
    try {
      for (let n = 0; n < INPUTS; n++) {
        const bytes = input(random)
        const reader = all[n % all.length]
        try {
          reader?.read(bytes)
          if (reader) reader.accepted++
        } catch (error) {
          if (reader?.isOwn(error)) continue
          const where = `input ${n} of FUZZ_SEED=${FUZZ_SEED}, ${JSON.stringify(toBinaryString(bytes))}`
          throw new Error(`${reader?.name} raised ${String(error)} for ${where}`, { cause: error })
        }
      }
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
    const counts = all.map(({ name, accepted }) => `${name} ${accepted}`).join(', ')
    console.info(`${INPUTS} hostile inputs to ${all.length} readers, FUZZ_SEED=${FUZZ_SEED}; accepted: ${counts}`)
    // Inputs that a reader refused all, most likely at the first byte, would prove nothing.
    for (const { name, accepted } of all) expect(accepted, name).toBeGreaterThan(INPUTS / 1000)
  })
})
