import fc from 'fast-check'
import type { Resp3 } from '../../../src/core/resp3/decode.js'
import { concatBytes, utf8 } from '../../../src/core/util/bytes.js'
import { anyCodePoint } from '../../support/any-code-point.js'

const LARGEST = Number.MAX_SAFE_INTEGER

/** Encodes any value. This encoder is independent of the library's, which supports only flat arrays. */
export function wire(value: Resp3): Uint8Array {
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

export const blob = (text: string): Resp3 => ({ type: 'blob', bytes: utf8(text) })
export const integer = (value: number): Resp3 => ({ type: 'integer', value })
export const array = (...items: Resp3[]): Resp3 => ({ type: 'array', items })
export const nested = (depth: number, core: Resp3): Resp3 => (depth === 0 ? core : array(nested(depth - 1, core)))

// Bytes that have a meaning on the wire make blobs resemble the surrounding syntax.
const wireByte = fc.constantFrom(...utf8('\r\n$*+-:019A'))
export const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 12 }),
  fc.array(wireByte, { maxLength: 12 }).map(bytes => Uint8Array.from(bytes)),
)
// The line is not empty, because an empty line in an array is tested separately.
const anyLine = fc.string({ unit: anyCodePoint, maxLength: 8 }).filter(text => !/[\r\n]/.test(text))
const anyScalar: fc.Arbitrary<Resp3> = fc.oneof(
  fc.option(anyBytes).map((bytes): Resp3 => ({ type: 'blob', bytes })),
  anyLine.map((text): Resp3 => ({ type: 'simple', text })),
  anyLine.map((text): Resp3 => ({ type: 'error', text })),
  fc.maxSafeInteger().map(integer),
)
export const anyValue = [1, 2, 3, 4].reduce<fc.Arbitrary<Resp3>>(
  inner =>
    fc.oneof(
      anyScalar,
      fc.array(inner, { maxLength: 4 }).map((items): Resp3 => array(...items)),
    ),
  anyScalar,
)

export const SAMPLES: readonly (readonly [string, Resp3])[] = [
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
export const REFUSALS = Object.entries(REFUSED).flatMap(([words, payloads]) =>
  payloads.map(payload => [payload, words] as const),
)
