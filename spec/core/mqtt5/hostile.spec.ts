import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { putVarint, sizeOfVarint } from '../../../src/core/mqtt5/data-types.js'
import { decodePacket } from '../../../src/core/mqtt5/decode.js'
import { PacketError } from '../../../src/core/mqtt5/packet-error.js'
import type { Version } from '../../../src/core/mqtt5/packets.js'
import { PublishDecoder } from '../../../src/core/mqtt5/publish-decoder.js'
import * as REASON from '../../../src/core/mqtt5/reason-codes.js'
import { concatBytes, utf8 } from '../../../src/core/util/bytes.js'
import { anyClientPacket, anyText, anyTopic } from '../../support/any-packet.js'
import { encodeClientPacket } from '../../support/client-packets.js'
import { effort, SEED } from '../../support/effort.js'
import { publishPacket } from '../../support/own-room.js'

/** The number of mutated packets. To raise it: `PACKETS=1000000 npx vitest run spec/core/mqtt5/hostile`. */
const PACKETS = Number(process.env['PACKETS'] ?? effort(50_000, 3_000))
/** The number of mutants per packet. */
const MUTANTS = 50

const anyPublish = fc
  .record({
    topic: anyTopic,
    payload: fc.uint8Array({ maxLength: 30 }),
    contentType: anyText,
    responseTopic: anyTopic,
    correlationData: fc.uint8Array({ maxLength: 20 }),
    messageExpiry: fc.nat(),
    userProperties: fc.dictionary(anyText, anyText, { maxKeys: 3 }),
  })
  .map(publish => publishPacket(publish, 1))

/** Returns a simple, fast generator. One seed must reproduce a million mutants. */
function chance(seed: number): (below: number) => number {
  let state = seed | 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const INTERESTING = [0, 1, 2, 0x23, 0x26, 0x2b, 0x7f, 0x80, 0xc0, 0xed, 0xff]

/** Changes, removes or inserts bytes, and usually corrects the packet length. */
function mutate(bytes: Uint8Array, next: (below: number) => number): Uint8Array {
  let content = Array.from(bytes.subarray(2))
  const first = next(8) === 0 ? next(256) : (bytes[0] ?? 0)
  for (let i = 0; i <= next(4); i++) {
    const at = next(content.length + 1)
    const byte = next(2) === 0 ? next(256) : (INTERESTING[next(INTERESTING.length)] ?? 0)
    const kind = next(5)
    if (kind === 0) content.splice(at, next(4))
    else if (kind === 1) content.splice(at, 0, byte, next(256))
    else if (kind === 2) content = [...content.slice(0, at), ...content.slice(next(content.length + 1))]
    else if (at < content.length) content[at] = kind === 3 ? byte : (content[at] ?? 0) ^ (1 << next(8))
  }
  content.length = Math.min(content.length, 2_000)
  const length = next(20) === 0 ? next(2_000) : content.length
  const frame = new Uint8Array(1 + sizeOfVarint(length) + content.length)
  frame[0] = first
  frame.set(content, putVarint(frame, 1, length))
  return frame
}

describe('any input from a client', () => {
  it(`any input is decoded or rejected with PacketError: ${PACKETS} packets, seed ${SEED}`, () => {
    const next = chance(SEED)
    const decoders = { 4: new PublishDecoder({ version: 4 }), 5: new PublishDecoder() }
    const seen = { read: 0, refused: 0 }
    const attempt = (frame: Uint8Array, version: Version): void => {
      try {
        if ((frame[0] ?? 0) >> 4 === 3) decoders[version].decode(frame)
        else decodePacket(frame, version)
        seen.read++
      } catch (error) {
        if (!(error instanceof PacketError)) throw new Error(`seed ${SEED}: ${frame}`, { cause: error })
        seen.refused++
      }
    }
    const any = fc.oneof(
      anyPublish,
      anyClientPacket(5).map(packet => encodeClientPacket(packet, 5)),
      anyClientPacket(4).map(packet => encodeClientPacket(packet, 4)),
    )
    for (const bytes of fc.sample(any, { numRuns: Math.ceil(PACKETS / MUTANTS), seed: SEED })) {
      for (let i = 0; i < MUTANTS; i++) attempt(mutate(bytes, next), next(4) === 0 ? 4 : 5)
    }
    expect(seen.read + seen.refused).toBeGreaterThanOrEqual(PACKETS)
    // A fuzzer whose packets are all rejected at the first byte would prove nothing.
    expect(seen.read).toBeGreaterThan(PACKETS / 50)
    expect(seen.refused).toBeGreaterThan(PACKETS / 50)
  }, 600_000)

  it('any input is decoded in linear time even if one user property name is repeated many times', () => {
    const copied = (count: number): number =>
      countElements(() => {
        expect(new PublishDecoder().decode(publishWith(count)).userProperties['a']).toHaveLength(count)
      })
    expect(copied(1_000)).toBeLessThan(3 * copied(500))
  })

  it('input with more than a thousand user properties is rejected, whatever their names', () => {
    const tooMany = expect.objectContaining({ reasonCode: REASON.quotaExceeded })
    expect(() => new PublishDecoder().decode(publishWith(100_000))).toThrow(tooMany)
    const unsubscribe = (count: number): Uint8Array =>
      framed(0xa2, concatBytes([Uint8Array.of(0, 1), repeated(count), Uint8Array.of(0, 1, 0x61)]))
    expect(decodePacket(unsubscribe(1_000), 5)).toMatchObject({ userProperties: { length: 1_000 } })
    expect(() => decodePacket(unsubscribe(1_001), 5)).toThrow(tooMany)
  })

  it('any input is rejected if it has more than ten thousand filters', () => {
    const tooMany = expect.objectContaining({ reasonCode: REASON.quotaExceeded })
    const filters = (header: number, count: number, ...filter: readonly number[]): Uint8Array =>
      framed(
        header,
        concatBytes([Uint8Array.of(0, 1, 0), ...new Array<Uint8Array>(count).fill(Uint8Array.of(...filter))]),
      )
    const subscribe = (count: number): Uint8Array => filters(0x82, count, 0, 1, 0x61, 0)
    const unsubscribe = (count: number): Uint8Array => filters(0xa2, count, 0, 1, 0x61)
    expect(decodePacket(subscribe(10_000), 5)).toMatchObject({ subscriptions: { length: 10_000 } })
    expect(decodePacket(unsubscribe(10_000), 5)).toMatchObject({ filters: { length: 10_000 } })
    expect(() => decodePacket(subscribe(10_001), 5)).toThrow(tooMany)
    expect(() => decodePacket(unsubscribe(10_001), 5)).toThrow(tooMany)
  })

  it('any input is decoded without copying a large payload', () => {
    const frame = framed(0x30, concatBytes([Uint8Array.of(0, 1, 0x74, 0), utf8('x'.repeat(1_000_000))]))
    expect(new PublishDecoder().decode(frame).payload.buffer).toBe(frame.buffer)
  })
})

/** Counts the elements that are pushed to arrays or copied between them. */
function countElements(run: () => void): number {
  const { push, concat, slice } = Array.prototype
  const iterate = Array.prototype[Symbol.iterator]
  let elements = 0
  Object.assign(Array.prototype, {
    push(this: unknown[], ...items: unknown[]) {
      elements += items.length
      return Reflect.apply(push, this, items)
    },
    concat(this: unknown[], ...items: unknown[]) {
      elements += this.length
      return Reflect.apply(concat, this, items)
    },
    slice(this: unknown[], ...range: unknown[]) {
      elements += this.length
      return Reflect.apply(slice, this, range)
    },
    [Symbol.iterator](this: unknown[]) {
      elements += this.length
      return Reflect.apply(iterate, this, [])
    },
  })
  try {
    run()
  } finally {
    Object.assign(Array.prototype, { push, concat, slice, [Symbol.iterator]: iterate })
  }
  return elements
}

function varint(value: number): Uint8Array {
  const bytes = new Uint8Array(sizeOfVarint(value))
  putVarint(bytes, 0, value)
  return bytes
}

/** Encodes properties that contain the same user property `count` times. */
const repeated = (count: number): Uint8Array =>
  concatBytes([varint(7 * count), ...new Array<Uint8Array>(count).fill(Uint8Array.of(0x26, 0, 1, 0x61, 0, 1, 0x62))])

const publishWith = (count: number): Uint8Array =>
  framed(0x30, concatBytes([Uint8Array.of(0, 1, 0x74), repeated(count)]))

const framed = (first: number, content: Uint8Array): Uint8Array =>
  concatBytes([Uint8Array.of(first), varint(content.length), content])
