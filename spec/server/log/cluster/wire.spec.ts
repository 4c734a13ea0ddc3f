import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../../src/core/util/bytes.js'
import { Engine } from '../../../../src/server/engine/engine.js'
import { LogClock, MessageJudge } from '../../../../src/server/log/cluster/message-judge.js'
import {
  decodeNodeMessage,
  encodeNodeMessage,
  MAX_MESSAGE_OVERHEAD_BYTES,
  type NodeMessage,
} from '../../../../src/server/log/cluster/node-message.js'
import { type MessageContext, NodeTable } from '../../../../src/server/log/cluster/node-table.js'
import { encodeSnapshot, SnapshotReader } from '../../../../src/server/log/cluster/snapshot-writer.js'
import { anyEntry } from '../../../support/any-entry.js'
import { effort } from '../../../support/effort.js'
import { pictureOf } from '../disk/run.js'

const word = fc.stringMatching(/^[\w-]{1,64}$/)
const envelope: fc.Arbitrary<NodeMessage> = fc.record({
  kind: fc.constantFrom('start', 'entry', 'piece', 'claim', 'written'),
  node: word,
  epoch: word,
  number: fc.integer({ min: 1 }),
  previousEpoch: fc.oneof(fc.constant(''), word),
  appliedPosition: fc.maxSafeNat(),
  digest: fc.nat(2 ** 32 - 1),
  clientCount: fc.nat(),
  body: fc.uint8Array({ maxLength: 300 }),
})

describe('a message of a node', () => {
  it('a message survives encoding and decoding, with limited overhead', () => {
    fc.assert(
      fc.property(envelope, message => {
        const bytes = encodeNodeMessage(message)
        expect(decodeNodeMessage(bytes)).toEqual({
          type: 'message',
          nodeMessage: message,
          isSigned: false,
          signer: undefined,
        })
        expect(bytes.length).toBeLessThanOrEqual(MAX_MESSAGE_OVERHEAD_BYTES + message.body.length)
      }),
    )
  })

  it('a message is ignored if it is truncated or one of its bits is flipped', () => {
    fc.assert(
      fc.property(envelope, fc.nat(), fc.nat(7), (message, offset, bit) => {
        const bytes = encodeNodeMessage(message)
        const at = offset % bytes.length
        expect(decodeNodeMessage(bytes.subarray(0, at))).toBeUndefined()
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
        expect(decodeNodeMessage(bytes)).toBeUndefined()
      }),
      { numRuns: effort(1_000, 100) },
    )
  })

  it('arbitrary bytes are not decoded as a message', () => {
    fc.assert(fc.property(fc.uint8Array(), bytes => decodeNodeMessage(bytes) === undefined))
  })
})

describe('an encoded snapshot', () => {
  it('a snapshot is decoded from chunks of any size, and any incorrect byte is detected', () => {
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 10 }), fc.nat(), fc.nat(), (entries, cut, offset) => {
        const engine = new Engine<never>()
        for (const entry of entries) engine.replay(entry)
        const bytes = concatBytes([...encodeSnapshot(new MessageJudge().encode(), engine.capture())])
        const read = (from: Uint8Array): Engine<never> => {
          const restored = new Engine<never>()
          const reader = new SnapshotReader(shared => new MessageJudge().decode(shared), restored.stateLoader)
          const step = 1 + (cut % from.length)
          for (let at = 0; at < from.length; at += step) reader.push(from.subarray(at, at + step))
          reader.finish()
          return restored
        }
        expect(pictureOf(read(bytes))).toBe(pictureOf(engine))
        expect(() => read(bytes.subarray(0, offset % bytes.length))).toThrow()
        const wrong = new Uint8Array(bytes)
        const at = offset % bytes.length
        wrong[at] = (wrong[at] ?? 0) ^ 1
        expect(() => read(wrong)).toThrow()
      }),
      { numRuns: effort(100, 20) },
    )
  })
})

describe('LogClock', () => {
  it("log time never goes back or behind the stream, and meets the stream's time again", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 }), { maxLength: 20 }), steps => {
        const time = new LogClock()
        let [stream, last] = [1_700_000_000_000, 0]
        for (const step of steps) {
          stream += step
          const next = time.advance(stream)
          expect(next).toBeGreaterThanOrEqual(Math.max(last, stream))
          last = next
        }
        const ahead = time.advance(stream) - stream
        stream += 8 * ahead + 8
        expect(time.advance(stream)).toBe(stream)
      }),
    )
  })

  it('log time is at most an eighth slower than real time while the stream is behind', () => {
    const time = new LogClock()
    time.advance(10_000_000)
    time.advance(10_000_000 - 3_600_000)
    const before = time.lastTime
    let stream = 10_000_000 - 3_600_000
    for (let at = 0; at < 1_000; at++) {
      stream += 3
      time.advance(stream)
    }
    expect(time.lastTime - before).toBe(3_000 - 375)
  })

  it('log time is the same on a node that starts from a snapshot', () => {
    const one = new LogClock()
    for (const stream of [1_000, 500, 600, 601]) one.advance(stream)
    const other = new LogClock(one.state)
    for (const stream of [607, 300, 1_400]) expect(other.advance(stream)).toBe(one.advance(stream))
  })
})

describe('NodeTable', () => {
  const start = (node: string): NodeMessage => ({
    kind: 'start',
    node,
    epoch: 'l',
    number: 1,
    previousEpoch: '',
    appliedPosition: 0,
    digest: 0,
    clientCount: 0,
    body: new Uint8Array(0),
  })

  const at = (time: number): MessageContext => ({ position: 1, time, isSignedOnly: false })

  it('nodes are removed after a week without messages, or when there are too many nodes', () => {
    const members = new NodeTable()
    members.accept(start('old'), at(0))
    members.accept(start('new'), at(8 * 24 * 3_600_000))
    expect([...members.entries()].map(([id]) => id)).toEqual(['new'])
    for (let more = 0; more < 1_500; more++) members.accept(start(`n${more}`), at(8 * 24 * 3_600_000 + more))
    expect([...members.entries()]).toHaveLength(1_000)
  })
})
