import { describe, expect, it } from 'vitest'
import { Random } from '../../../harness/random.js'
import { concatBytes, displayText, toHex, utf8 } from '../../../src/core/util/bytes.js'
import { formatValue, PayloadError } from '../../../src/core/util/errors.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { effort, SEED } from '../../support/effort.js'
import { DOWN_VECTORS, hex, UNKNOWN_DOWN, UP_VECTORS } from './protobuf-vectors.js'

const INPUTS = effort(200_000, 8_000)

interface Decoder {
  readonly name: string
  readonly valid: readonly Uint8Array[]
  readonly hostile: readonly Uint8Array[]
  decode(bytes: Uint8Array): unknown
}

const bytesOf = (data: FrameData): Uint8Array => (typeof data === 'string' ? utf8(data) : data)

const JSON_PIECES = ['"ackId":9007199254740993', ',"sequenceId":18446744073709551616', '-1', '1e400', '\\u0049', '\\']
  .concat([
    '"',
    '{',
    '}',
    '[[',
    ']',
    ':',
    ',',
    'null',
    '"data":null',
    '"dataType":"binary"',
    '"__proto__":{}',
    '\ud800',
  ])
  .concat(['"type":"ping"', '\u0000', '{"type":"sequenceAck","sequenceId":9007199254740993,', '[['.repeat(400)])
  .map(utf8)
const PROTOBUF_PIECES = [
  'ffffffff0f',
  'ffffffffffffffffff01',
  'ff'.repeat(11),
  '00',
  '0a00',
  '12ffffffff0f',
  '0f',
  '0b',
]
  .concat(['0b'.repeat(200), '0b0c', '1a80808008', '22ff', 'a006', '0aff01', 'eda080', '0d', '09', '80'])
  .map(hex)

const DECODERS: readonly Decoder[] = [
  {
    name: 'jsonClientCodec',
    valid: DOWN_VECTORS.map(([, , frame]) => bytesOf(jsonHubCodec.encode(frame))),
    hostile: JSON_PIECES,
    decode: bytes => jsonClientCodec.decode(displayText(bytes)),
  },
  {
    name: 'jsonHubCodec',
    valid: UP_VECTORS.map(([, , frame]) => bytesOf(jsonClientCodec.encode(frame))),
    hostile: JSON_PIECES,
    decode: bytes => jsonHubCodec.decode(displayText(bytes)),
  },
  {
    name: 'protobufClientCodec',
    valid: [...DOWN_VECTORS, ...UNKNOWN_DOWN].map(([, bytes]) => hex(bytes)),
    hostile: PROTOBUF_PIECES,
    decode: bytes => protobufClientCodec.decode(bytes),
  },
  {
    name: 'protobufHubCodec',
    valid: UP_VECTORS.map(([, bytes]) => hex(bytes)),
    hostile: PROTOBUF_PIECES,
    decode: bytes => protobufHubCodec.decode(bytes),
  },
]

const NOTHING = new Uint8Array()
const oneOf = (random: Random, all: readonly Uint8Array[]): Uint8Array => all[random.int(0, all.length - 1)] ?? NOTHING

function mutated(frame: Uint8Array, { valid, hostile }: Decoder, random: Random): Uint8Array {
  const at = random.int(0, frame.length)
  const [before, after] = [frame.subarray(0, at), frame.subarray(at)]
  switch (random.int(0, 6)) {
    case 0:
      return before
    case 1:
      return concatBytes([before, after.map((byte, i) => (i === 0 ? byte ^ (1 << random.int(0, 7)) : byte))])
    case 2:
      return concatBytes([before, Uint8Array.of(random.int(0, 255)), after])
    case 3:
      return concatBytes([before, after.subarray(random.int(1, 4))])
    case 4: {
      const other = oneOf(random, valid)
      return concatBytes([before, other.subarray(random.int(0, other.length))])
    }
    default:
      return concatBytes([before, oneOf(random, hostile), after.subarray(random.int(0, 4))])
  }
}

function input(decoder: Decoder, random: Random): Uint8Array {
  if (random.chance(0.1)) return Uint8Array.from({ length: random.int(0, 24) }, () => random.int(0, 255))
  if (random.chance(0.1)) {
    return concatBytes(Array.from({ length: random.int(0, 8) }, () => oneOf(random, decoder.hostile)))
  }
  let frame = oneOf(random, decoder.valid)
  for (let rounds = random.int(0, 3); rounds > 0; rounds--) frame = mutated(frame, decoder, random)
  return frame
}

/** Returns how many inputs a decoder accepts. The decoder must reject the others with a PayloadError. */
function accepted(decoder: Decoder, random: Random): number {
  let count = 0
  for (let n = 0; n < INPUTS / DECODERS.length; n++) {
    const bytes = input(decoder, random)
    try {
      decoder.decode(bytes)
      count++
    } catch (error) {
      if (error instanceof PayloadError) continue
      const where = `input ${n} of SEED=${SEED}, ${toHex(bytes)}`
      throw new Error(`${decoder.name} raised ${formatValue(error)} for ${where}`, { cause: error })
    }
  }
  return count
}

describe('hostile input', () => {
  it(`each decoder accepts or rejects random input, ${INPUTS / DECODERS.length} times`, () => {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0 // Most inputs are rejected, and stack traces account for most of the cost of an error.
    try {
      const counts = DECODERS.map(decoder => accepted(decoder, new Random(SEED)))
      const list = DECODERS.map(({ name }, i) => `${name} ${counts[i]}`).join(', ')
      console.info(`${INPUTS} hostile inputs to ${DECODERS.length} decoders, SEED=${SEED}; accepted: ${list}`)
      // Rejecting everything, most likely at the first byte, would prove nothing.
      for (const count of counts) expect(count).toBeGreaterThan(INPUTS / 100)
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
  })

  it.each(DECODERS)('a truncated frame is never accepted: $name', decoder => {
    for (const frame of decoder.valid) {
      for (let end = 0; end < frame.length; end++) {
        const cut = frame.subarray(0, end)
        expect(() => decoder.decode(cut), `the first ${end} bytes of ${toHex(frame)}`).toThrow(PayloadError)
      }
    }
  })

  /** The input length in bytes. Quadratic time is too slow even with a tenth of this length. */
  const LENGTH = effort(1_000_000, 100_000)
  it.each(DECODERS)('decoding takes linear time: $name', decoder => {
    for (const piece of [...decoder.hostile, ...decoder.valid]) {
      const bytes = concatBytes(Array.from({ length: Math.floor(LENGTH / piece.length) }, () => piece))
      for (const head of [NOTHING, ...decoder.valid.slice(0, 1)]) {
        try {
          decoder.decode(concatBytes([head, bytes]))
        } catch (error) {
          expect(error).toBeInstanceOf(PayloadError)
        }
      }
    }
  })
})
