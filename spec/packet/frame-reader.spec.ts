import fc from 'fast-check'
import { generate, type Packet } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../src/bytes.js'
import { FrameReader } from '../../src/packet/frame-reader.js'
import { PACKET } from '../../src/packet/layout.js'

const v5 = { protocolVersion: 5 }
const LIMIT = 1024 * 1024
const bytesOf = (packet: Packet): Uint8Array => Uint8Array.from(generate(packet, v5))
const publish = (size: number): Packet => ({
  cmd: 'publish',
  topic: 'a',
  payload: Buffer.alloc(size, 7),
  qos: 0,
  dup: false,
  retain: false,
})

const anyPacket: fc.Arbitrary<Packet> = fc.oneof(
  fc.integer({ min: 0, max: 400 }).map(publish),
  fc.integer({ min: 1, max: 65_535 }).map((messageId): Packet => ({ cmd: 'puback', messageId, reasonCode: 0 })),
  fc.constant<Packet>({ cmd: 'pingresp' }),
  fc.integer({ min: 1, max: 65_535 }).map((messageId): Packet => ({ cmd: 'suback', messageId, granted: [1] })),
)

/** Cuts bytes at places, given as fractions. */
function pieces(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [0, ...places.map(place => Math.floor(place * bytes.length)).sort((a, b) => a - b), bytes.length]
  return cuts.slice(1).map((cut, i) => bytes.slice(cuts[i], cut))
}

/** Takes PUBACKs, and what else it is told to. */
class Taker {
  readonly taken: Uint8Array[] = []
  readonly offered: number[] = []
  constructor(private readonly types: readonly number[] = [PACKET.puback]) {}
  wants(type: number): boolean {
    this.offered.push(type)
    return this.types.includes(type)
  }
  take(frame: Uint8Array): boolean {
    this.taken.push(frame.slice())
    return true
  }
}

describe('FrameReader', () => {
  it('takes what is wanted and passes on the rest, wherever the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(anyPacket, { maxLength: 12 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 }),
        (packets, places) => {
          const taker = new Taker()
          const reader = new FrameReader(taker, LIMIT)
          const bytes = concatBytes(packets.map(bytesOf))
          const rest = pieces(bytes, places).flatMap(piece => reader.read(piece))
          expect(taker.taken).toEqual(packets.filter(({ cmd }) => cmd === 'puback').map(bytesOf))
          expect(concatBytes(rest)).toEqual(concatBytes(packets.filter(({ cmd }) => cmd !== 'puback').map(bytesOf)))
        },
      ),
    )
  })

  it('passes on a wanted packet that is not taken', () => {
    const reader = new FrameReader({ wants: () => true, take: () => false }, LIMIT)
    const bytes = concatBytes([bytesOf({ cmd: 'pingresp' }), bytesOf(publish(10))])
    expect(concatBytes(reader.read(bytes))).toEqual(bytes)
  })

  it('passes on at once what is not wanted, complete or not', () => {
    const bytes = bytesOf(publish(300))
    const reader = new FrameReader(new Taker(), LIMIT)
    expect(concatBytes(reader.read(bytes.subarray(0, 100)))).toEqual(bytes.subarray(0, 100))
    expect(concatBytes(reader.read(bytes.subarray(100)))).toEqual(bytes.subarray(100))
  })

  it('gives plain arrays, whose slices are copies, when it reads Buffers', () => {
    const taker = new Taker()
    const reader = new FrameReader(taker, LIMIT)
    const bytes = Buffer.from(bytesOf({ cmd: 'puback', messageId: 258, reasonCode: 0 }))
    for (const piece of [bytes.subarray(0, 3), bytes.subarray(3)]) expect(reader.read(piece)).toEqual([])
    expect(reader.read(bytes)).toEqual([])
    bytes.fill(0)
    const expected = bytesOf({ cmd: 'puback', messageId: 258, reasonCode: 0 })
    expect(taker.taken).toEqual([expected, expected])
  })

  it('does not hold a packet beyond its limit, and goes on after it', () => {
    const taker = new Taker([PACKET.publish, PACKET.puback])
    const reader = new FrameReader(taker, LIMIT)
    const large = bytesOf(publish(1024 * 1024))
    const small = bytesOf({ cmd: 'puback', messageId: 1, reasonCode: 0 })
    const bytes = concatBytes([large, small])
    const rest = [0, 1, 2, 3].flatMap(i => reader.read(bytes.slice(i * 300_000, (i + 1) * 300_000)))
    expect(Buffer.compare(concatBytes(rest), large)).toBe(0)
    expect(taker.taken).toEqual([small])
  })

  it('leaves everything to others from a malformed length on', () => {
    const taker = new Taker()
    const reader = new FrameReader(taker, LIMIT)
    const malformed = new Uint8Array([0x40, 0xff, 0xff, 0xff, 0xff, 0x01])
    const after = bytesOf({ cmd: 'puback', messageId: 1, reasonCode: 0 })
    expect(concatBytes(reader.read(concatBytes([malformed, after])))).toEqual(concatBytes([malformed, after]))
    expect(concatBytes(reader.read(after))).toEqual(after)
    expect(taker.taken).toEqual([])
  })

  it('understands a length written with more bytes than it takes', () => {
    const taker = new Taker()
    const frame = new Uint8Array([0x40, 0x82, 0x80, 0x00, 0x01, 0x02])
    expect(new FrameReader(taker, LIMIT).read(concatBytes([frame, frame]))).toEqual([])
    expect(taker.taken).toEqual([frame, frame])
  })

  it('loses and adds nothing, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }), chunks => {
        const taken: Uint8Array[] = []
        const all: Uint8Array[] = []
        const reader = new FrameReader(
          {
            wants: type => type % 2 === 0,
            take: frame => {
              taken.push(frame.slice())
              return true
            },
          },
          LIMIT,
        )
        for (const chunk of chunks) all.push(...reader.read(chunk))
        const length = concatBytes(all).length + concatBytes(taken).length
        expect(length).toBeLessThanOrEqual(concatBytes(chunks).length)
      }),
    )
  })
})
