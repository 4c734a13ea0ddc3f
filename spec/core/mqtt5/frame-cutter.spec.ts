import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodePuback, putVarint, sizeOfVarint } from '../../../src/core/mqtt5/data-types.js'
import { FrameCutter } from '../../../src/core/mqtt5/frame-cutter.js'
import * as REASON from '../../../src/core/mqtt5/reason-codes.js'
import { concatBytes } from '../../../src/core/util/bytes.js'

const LIMIT = 100_000

function packetOf(size: number, fill = 7): Uint8Array {
  const bytes = new Uint8Array(1 + sizeOfVarint(size) + size).fill(fill)
  bytes[0] = 0x30
  putVarint(bytes, 1, size)
  return bytes
}

function take(cutter: FrameCutter): Uint8Array[] {
  const frames: Uint8Array[] = []
  for (let frame = cutter.next(); frame !== undefined; frame = cutter.next()) frames.push(frame)
  return frames
}

const packets = fc.array(fc.tuple(fc.oneof(fc.nat(5), fc.nat(400), fc.constant(20_000)), fc.nat(255)), {
  maxLength: 12,
})
const fractions = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 })

/** Cuts bytes at positions that are given as fractions. */
function pieces(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const cuts = [0, ...at.map(place => Math.floor(place * bytes.length)).sort((a, b) => a - b), bytes.length]
  return cuts.slice(1).map((cut, i) => bytes.slice(cuts[i], cut))
}

/** Counts the allocations that `run` makes. */
function allocations(run: () => void): { count: number; bytes: number } {
  const original = globalThis.Uint8Array
  const seen = { count: 0, bytes: 0 }
  globalThis.Uint8Array = new Proxy(original, {
    construct(target, parameters, newTarget) {
      const made: Uint8Array = Reflect.construct(target, parameters, newTarget)
      if (typeof parameters[0] === 'number') {
        seen.count++
        seen.bytes += made.length
      }
      return made
    },
  })
  try {
    run()
  } finally {
    globalThis.Uint8Array = original
  }
  return seen
}

describe('FrameCutter', () => {
  it('returns the sent packets regardless of how the stream is divided and when it is read', () => {
    fc.assert(
      fc.property(packets, fractions, fc.infiniteStream(fc.boolean()), (sent, at, asks) => {
        const cutter = new FrameCutter(LIMIT)
        const frames = sent.map(([size, fill]) => packetOf(size, fill))
        const received: Uint8Array[] = []
        for (const piece of pieces(concatBytes(frames), at)) {
          cutter.push(piece)
          if (asks.next().value) received.push(...take(cutter))
        }
        received.push(...take(cutter))
        // Compares at the end, because earlier results must not have changed since.
        expect(Buffer.compare(concatBytes(received), concatBytes(frames))).toBe(0)
        expect(received.map(frame => frame.length)).toEqual(frames.map(frame => frame.length))
        expect([cutter.bufferedBytes, cutter.hasPartialPacket]).toEqual([0, false])
      }),
    )
  })

  it('returns packets that arrive one byte at a time', () => {
    const cutter = new FrameCutter(LIMIT)
    const frames = [packetOf(0), packetOf(127), packetOf(128), packetOf(3_000)]
    const received: Uint8Array[] = []
    for (const byte of concatBytes(frames)) {
      cutter.push(Uint8Array.of(byte))
      received.push(...take(cutter))
    }
    expect(received).toEqual(frames)
  })

  it('can stop cutting between two packets', () => {
    const cutter = new FrameCutter(LIMIT)
    cutter.push(concatBytes([packetOf(1), packetOf(2)]))
    expect(cutter.next()).toEqual(packetOf(1))
    expect([cutter.bufferedBytes, cutter.hasPartialPacket]).toEqual([4, false])
    expect(cutter.next()).toEqual(packetOf(2))
    expect(cutter.next()).toBeUndefined()
  })

  it('returns the packet id of a success-only PUBACK, and consumes no other packet', () => {
    const cutter = new FrameCutter(LIMIT)
    cutter.push(concatBytes([encodePuback(0x1234), packetOf(1), encodePuback(7)]))
    expect([cutter.nextPuback(), cutter.nextPuback()]).toEqual([0x1234, 0])
    expect(cutter.next()).toEqual(packetOf(1))
    expect([cutter.nextPuback(), cutter.bufferedBytes, cutter.nextPuback()]).toEqual([7, 0, 0])
  })

  it.each([
    ['is not complete', [0x40, 2, 0]],
    ['has no packet id', [0x40, 2, 0, 0]],
    ['has a reason code', [0x40, 3, 0, 1, 0x10]],
    ['has flags', [0x42, 2, 0, 1]],
    ['is of another type', [0x50, 2, 0, 1]],
  ])('does not treat a packet that %s as a successful PUBACK', (_, bytes) => {
    const cutter = new FrameCutter(LIMIT)
    cutter.push(Uint8Array.from(bytes))
    expect([cutter.nextPuback(), cutter.bufferedBytes]).toEqual([0, bytes.length])
  })

  it('does not treat the remainder of a packet as a PUBACK', () => {
    const cutter = new FrameCutter(LIMIT)
    const [first, second] = [packetOf(1), packetOf(2)]
    cutter.push(concatBytes([first, second, encodePuback(1)]).subarray(0, first.length + second.length + 3))
    expect([cutter.next(), cutter.next()]).toEqual([first, second])
    expect(cutter.nextPuback()).toBe(0)
    cutter.push(encodePuback(1).subarray(3))
    expect(cutter.nextPuback()).toBe(1)
  })

  it('returns views of packets that arrive in one chunk, as plain Uint8Arrays even for Buffers', () => {
    const cutter = new FrameCutter(LIMIT)
    const chunk = Buffer.from(concatBytes([packetOf(3), packetOf(4)]))
    cutter.push(chunk)
    for (const frame of take(cutter)) {
      expect(frame.buffer).toBe(chunk.buffer)
      expect(frame.constructor).toBe(Uint8Array)
    }
  })

  it('reports whether a packet has begun', () => {
    const cutter = new FrameCutter(LIMIT)
    for (const byte of packetOf(2)) {
      expect(cutter.next()).toBeUndefined()
      cutter.push(Uint8Array.of(byte))
      expect(cutter.hasPartialPacket).toBe(cutter.bufferedBytes < 4)
    }
  })

  it.each([
    ['a length of more than four bytes', REASON.malformedPacket, [0x30, 0x80, 0x80, 0x80, 0x80]],
    ['a length beyond its maximum', REASON.packetTooLarge, [0x30, 0xff, 0xff, 0xff, 0x7f]],
  ])('rejects %s as early as possible, and on every later call', (_what, reasonCode, bytes) => {
    const cutter = new FrameCutter(LIMIT)
    const refusal = expect.objectContaining({ name: 'PacketError', reasonCode })
    cutter.push(concatBytes([packetOf(1), Uint8Array.from(bytes)]))
    expect(cutter.next()).toEqual(packetOf(1))
    for (let i = 0; i < 3; i++) expect(() => cutter.next()).toThrow(refusal)
  })

  it('accepts a packet of exactly the maximum size', () => {
    const cutter = new FrameCutter(130)
    cutter.push(packetOf(127))
    expect(cutter.next()).toEqual(packetOf(127))
    cutter.push(packetOf(128))
    expect(() => cutter.next()).toThrow(expect.objectContaining({ reasonCode: REASON.packetTooLarge }))
  })

  it('memory grows with the received bytes, not the announced length, in few steps', () => {
    const cutter = new FrameCutter(300_000_000)
    const size = 50_000
    const sent = [0x30, 0xff, 0xff, 0xff, 0x7f, ...new Uint8Array(size)].map(byte => Uint8Array.of(byte))
    const { count, bytes } = allocations(() => {
      for (const piece of sent) {
        cutter.push(piece)
        cutter.next()
      }
    })
    expect(cutter.bufferedBytes).toBe(size + 5)
    expect(count).toBeLessThan(40)
    // The sum 1 + 2 + 4 + ... + 2n means that every byte is copied less than four times.
    expect(bytes).toBeLessThan(4 * size)
  })

  it('assembles a packet in its exact size, without copying the bytes after it', () => {
    const cutter = new FrameCutter(LIMIT)
    const [first, second] = [packetOf(70_000), packetOf(3)]
    const stream = concatBytes([first, second])
    const chunk = stream.slice(40_000)
    for (const piece of [stream.slice(0, 1), stream.slice(1, 40_000), chunk]) {
      expect(cutter.next()).toBeUndefined()
      cutter.push(piece)
    }
    expect(cutter.bufferedBytes).toBe(stream.length)
    const frames = take(cutter)
    expect(frames).toEqual([first, second])
    expect(frames.map(({ buffer }) => buffer.byteLength)).toEqual([first.length, chunk.length])
  })

  it('does not retain a large chunk because of a small remainder', () => {
    const cutter = new FrameCutter(LIMIT)
    const chunk = concatBytes([packetOf(60_000), Uint8Array.of(0x30, 9, 1)])
    cutter.push(chunk)
    const [frame] = take(cutter)
    expect(frame?.buffer).toBe(chunk.buffer)
    cutter.push(new Uint8Array(8).fill(1))
    expect(cutter.next()?.buffer.byteLength).toBeLessThan(50)
  })
})
