import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../../src/core/util/bytes.js'
import { Engine } from '../../../../src/server/engine/engine.js'
import { LogClock, MessageJudge } from '../../../../src/server/log/cluster/message-judge.js'
import {
  decodeEnvelope,
  ENVELOPE_OVERHEAD,
  encodeEnvelope,
  type NodeMessage,
} from '../../../../src/server/log/cluster/node-message.js'
import { type Arrival, NodeTable } from '../../../../src/server/log/cluster/node-table.js'
import { encodeSnapshot, SnapshotReader } from '../../../../src/server/log/cluster/snapshot-writer.js'
import { effort } from '../../../support/effort.js'
import { anyEntry } from '../any-entry.js'
import { pictureOf } from '../disk/run.js'

const word = fc.stringMatching(/^[\w-]{1,64}$/)
const envelope: fc.Arbitrary<NodeMessage> = fc.record({
  kind: fc.constantFrom('start', 'entry', 'piece', 'claim', 'written'),
  node: word,
  life: word,
  number: fc.integer({ min: 1 }),
  replaces: fc.oneof(fc.constant(''), word),
  applied: fc.maxSafeNat(),
  digest: fc.nat(2 ** 32 - 1),
  clients: fc.nat(),
  body: fc.uint8Array({ maxLength: 300 }),
})

describe('a message of a node', () => {
  it('is read as it was written, and is no larger than is said', () => {
    fc.assert(
      fc.property(envelope, each => {
        const bytes = encodeEnvelope(each)
        expect(decodeEnvelope(bytes)).toEqual({ type: 'message', envelope: each, signed: false, signer: undefined })
        expect(bytes.length).toBeLessThanOrEqual(ENVELOPE_OVERHEAD + each.body.length)
      }),
    )
  })

  it('counts for nobody when it is cut or a bit of it flips', () => {
    fc.assert(
      fc.property(envelope, fc.nat(), fc.nat(7), (each, place, bit) => {
        const bytes = encodeEnvelope(each)
        const at = place % bytes.length
        expect(decodeEnvelope(bytes.subarray(0, at))).toBeUndefined()
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
        expect(decodeEnvelope(bytes)).toBeUndefined()
      }),
      { numRuns: effort(1_000, 100) },
    )
  })

  it('counts for nobody when it is anything else', () => {
    fc.assert(fc.property(fc.uint8Array(), bytes => decodeEnvelope(bytes) === undefined))
  })
})

describe('a snapshot', () => {
  it('is read as it was written, however its bytes are cut, and found out when any of them is wrong', () => {
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 10 }), fc.nat(), fc.nat(), (entries, cut, place) => {
        const engine = new Engine<never>()
        for (const entry of entries) engine.replay(entry)
        const bytes = concatBytes([...encodeSnapshot(new MessageJudge().encode(), engine.capture())])
        const read = (from: Uint8Array): Engine<never> => {
          const again = new Engine<never>()
          const reader = new SnapshotReader(shared => new MessageJudge().decode(shared), again.stateLoader)
          const step = 1 + (cut % from.length)
          for (let at = 0; at < from.length; at += step) reader.take(from.subarray(at, at + step))
          reader.end()
          return again
        }
        expect(pictureOf(read(bytes))).toBe(pictureOf(engine))
        expect(() => read(bytes.subarray(0, place % bytes.length))).toThrow()
        const wrong = new Uint8Array(bytes)
        const at = place % bytes.length
        wrong[at] = (wrong[at] ?? 0) ^ 1
        expect(() => read(wrong)).toThrow()
      }),
      { numRuns: effort(100, 20) },
    )
  })
})

describe('the time of the log', () => {
  it('never goes back, is never behind the stream, and is that of the stream again some time after it went back', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 }), { maxLength: 20 }), steps => {
        const time = new LogClock()
        let [stream, last] = [1_700_000_000_000, 0]
        for (const step of steps) {
          stream += step
          const next = time.next(stream)
          expect(next).toBeGreaterThanOrEqual(Math.max(last, stream))
          last = next
        }
        const ahead = time.next(stream) - stream
        stream += 8 * ahead + 8
        expect(time.next(stream)).toBe(stream)
      }),
    )
  })

  it('goes on while the stream is behind it, no faster than that and at most an eighth slower', () => {
    const time = new LogClock()
    time.next(10_000_000)
    time.next(10_000_000 - 3_600_000)
    const before = time.last
    let stream = 10_000_000 - 3_600_000
    for (let at = 0; at < 1_000; at++) {
      stream += 3
      time.next(stream)
    }
    expect(time.last - before).toBe(3_000 - 375)
  })

  it('is the same for who begins from a snapshot', () => {
    const one = new LogClock()
    for (const stream of [1_000, 500, 600, 601]) one.next(stream)
    const other = new LogClock(one.state)
    for (const stream of [607, 300, 1_400]) expect(other.next(stream)).toBe(one.next(stream))
  })
})

describe('the nodes that are known', () => {
  const start = (node: string): NodeMessage => ({
    kind: 'start',
    node,
    life: 'l',
    number: 1,
    replaces: '',
    applied: 0,
    digest: 0,
    clients: 0,
    body: new Uint8Array(0),
  })

  const at = (time: number): Arrival => ({ position: 1, time, isSignedOnly: false })

  it('are forgotten when they were not heard of for a week, and when there are too many', () => {
    const members = new NodeTable()
    members.take(start('old'), at(0))
    members.take(start('new'), at(8 * 24 * 3_600_000))
    expect([...members.entries()].map(([id]) => id)).toEqual(['new'])
    for (let more = 0; more < 1_500; more++) members.take(start(`n${more}`), at(8 * 24 * 3_600_000 + more))
    expect([...members.entries()]).toHaveLength(1_000)
  })
})
