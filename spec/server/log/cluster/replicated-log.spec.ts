import { describe, expect, it } from 'vitest'
import { FakeStream } from './fake-stream.js'
import { set, TestCluster, valueAt } from './test-cluster.js'

describe('a replicated log', () => {
  it('an entry is committed when it is in the stream, and other nodes receive it', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    const { node: b } = cluster.open('b')
    const entry = set('x', '1')
    a.log.append(entry)
    expect(a.committed).toEqual([])
    cluster.clock.advance(20)
    expect(a.committed[0]?.commands).toBe(entry.commands)
    expect(b.foreign.at(-1)?.commands).toEqual(entry.commands)
    expect([valueAt(a, 'x'), valueAt(b, 'x')]).toEqual(['1', '1'])
    expect(a.stateHex).toBe(b.stateHex)
    expect(a.judge.digest.value).toBe(b.judge.digest.value)
  })

  it('an entry gets its time from the stream', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    cluster.streams.clockOffsetMs = 5_000
    const sent = cluster.clock.now()
    a.log.append(set('x', '1'))
    cluster.clock.advance(20)
    expect(a.committed[0]?.time).toBe(sent + 5_000 + 1)
  })

  it("the order of a node's entries is kept even if messages between them are lost", () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const { node: b } = cluster.open('b')
    let chance = 7
    stream.faults.shouldLose = () => {
      chance = (chance * 16_807) % 2_147_483_647
      return chance % 3 === 1
    }
    const entries = Array.from({ length: 40 }, (_, at) => set(`k${at % 4}`, String(at)))
    for (const entry of entries) a.log.append(entry)
    cluster.clock.advance(60_000)
    expect(a.committed.map(({ commands }) => commands)).toEqual(entries.map(({ commands }) => commands))
    expect(a.stateHex).toBe(b.stateHex)
    expect(a.rejected).toEqual([])
  })

  it('an entry that is stored twice is applied once', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const { node: b } = cluster.open('b')
    stream.faults.copies = 3
    for (let at = 0; at < 10; at++) a.log.append(set('x', String(at)))
    cluster.clock.advance(1_000)
    expect(a.committed).toHaveLength(10)
    expect(b.changes.filter(({ notification }) => notification.op === 'set')).toHaveLength(10)
    expect(a.stateHex).toBe(b.stateHex)
  })

  it('an unacknowledged message is resent, and its entry is applied once', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    stream.faults.isMute = true
    stream.faults.isStalled = true
    a.log.append(set('x', '1'))
    cluster.clock.advance(2_500)
    stream.faults.isStalled = false
    stream.faults.isMute = false
    cluster.clock.advance(5_000)
    expect(a.committed).toHaveLength(1)
  })

  it('at most 16 messages are in flight', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const before = stream.published
    for (let at = 0; at < 100; at++) a.log.append(set('x', String(at)))
    expect(stream.published - before).toBe(16)
    cluster.clock.advance(1_000)
    expect(a.committed).toHaveLength(100)
  })

  it('an entry that is larger than a message is split, and is applied as a whole', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    const { node: b } = cluster.open('b')
    a.log.append(set('x', 'y'.repeat(30_000)))
    a.log.append(set('z', '1'))
    cluster.clock.advance(1_000)
    expect(a.committed).toHaveLength(2)
    expect(valueAt(b, 'x')).toHaveLength(30_000)
    expect(a.stateHex).toBe(b.stateHex)
  })

  it('a stalled subscription is restarted', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    const stream = new FakeStream(cluster.streams)
    const { node: b } = cluster.open('b', {}, stream)
    stream.faults.isStalled = true
    a.log.append(set('x', '1'))
    cluster.clock.advance(1_000)
    expect(valueAt(b, 'x')).toBeUndefined()
    stream.faults.isStalled = false
    cluster.clock.advance(10_000)
    expect(valueAt(b, 'x')).toBe('1')
  })

  it('a message that no node sent is ignored and reported', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    const { node: b } = cluster.open('b')
    cluster.streams.put(new Uint8Array([1, 2, 3]))
    const message = cluster.streams.messages[1]
    if (message) cluster.streams.put(message.bytes.subarray(0, -2))
    a.log.append(set('x', '1'))
    cluster.clock.advance(11_000)
    expect(a.reportedErrors).toMatchObject([{ code: 'damaged' }, { code: 'damaged' }])
    expect([valueAt(b, 'x'), a.stateHex]).toEqual(['1', b.stateHex])
  })
})
