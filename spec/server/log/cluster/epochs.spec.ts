import { describe, expect, it } from 'vitest'
import { FakeStream } from './fake-stream.js'
import { entryOf, set, TestCluster, valueAt, write } from './test-cluster.js'

describe('the epochs of a node', () => {
  it('messages of an earlier epoch are ignored after the next epoch has started', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const { node: b } = cluster.open('b')
    stream.faults.shouldLose = bytes => {
      // The message arrives after the next epoch has started.
      cluster.clock.schedule(5_000, () => cluster.streams.put(bytes))
      return true
    }
    a.log.append(set('x', 'late'))
    cluster.clock.advance(10)
    a.kill()
    stream.faults.shouldLose = () => false
    const { node: reopened } = cluster.open('a')
    cluster.clock.advance(10_000)
    expect([valueAt(reopened, 'x'), valueAt(b, 'x')]).toEqual([undefined, undefined])
    expect(reopened.stateHex).toBe(b.stateHex)
  })

  it('a node stops and reports the reason when another process has the same id', () => {
    const cluster = new TestCluster()
    const { node: first } = cluster.open('a')
    const { node: second } = cluster.open('a')
    cluster.clock.advance(100)
    expect(first.failures).toMatchObject([{ code: 'superseded' }])
    expect(second.failures).toEqual([])
    first.log.append(set('x', '1'))
    expect(first.rejected).toMatchObject([{ failure: { problem: 'unavailable' } }])
  })

  it("an epoch starts even if a killed process's earlier start message arrives late", () => {
    const cluster = new TestCluster()
    cluster.open('a').node.kill()
    const late = new FakeStream(cluster.streams)
    late.faults.shouldLose = bytes => {
      cluster.clock.schedule(500, () => cluster.streams.put(bytes))
      return true
    }
    const { node: killed } = cluster.node('a', {}, late)
    cluster.clock.advance(50)
    killed.kill()
    const { node: reopened, stream } = cluster.node('a')
    stream.faults.shouldLose = () => true
    cluster.clock.advance(600)
    stream.faults.shouldLose = () => false
    cluster.clock.advance(5_000)
    expect(reopened.error).toBeUndefined()
    reopened.log.append(set('x', '1'))
    cluster.clock.advance(100)
    expect(valueAt(reopened, 'x')).toBe('1')
  })

  it('an outage starts a new epoch, before which messages in flight are stored or never', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const { node: b } = cluster.open('b')
    stream.faults.isDeaf = true
    a.log.append(set('x', 'old'))
    cluster.clock.advance(20_000)
    expect(a.availabilities).toEqual(['waiting', 'away'])
    expect([a.committed, a.rejected]).toEqual([[], []])
    stream.faults.isDeaf = false
    cluster.clock.advance(5_000)
    expect(a.availabilities).toEqual(['waiting', 'away', 'kept'])
    expect(a.rejected).toMatchObject([{ failure: { problem: 'unavailable' } }])
    expect(valueAt(b, 'x')).toBeUndefined()
    a.log.append(set('x', 'new'))
    cluster.clock.advance(100)
    expect([valueAt(a, 'x'), valueAt(b, 'x')]).toEqual(['new', 'new'])
  })

  it('a new epoch starts with a whole entry if the entry in flight exceeds the in-flight window', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    const { node: b } = cluster.open('b')
    stream.faults.isDeaf = true
    a.log.append(set('large', 'y'.repeat(200_000)))
    a.log.append(set('x', 'old'))
    cluster.clock.advance(20_000)
    stream.faults.isDeaf = false
    cluster.clock.advance(5_000)
    a.log.append(set('z', 'new'))
    cluster.clock.advance(1_000)
    expect([valueAt(b, 'large'), valueAt(b, 'z')]).toEqual([undefined, 'new'])
    expect(a.stateHex).toBe(b.stateHex)
    expect([a.failures, b.failures]).toEqual([[], []])
    expect(a.committed.length + a.rejected.length).toBe(3)
  })

  it('messages stored before a new epoch are kept and reported as committed', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    stream.faults.isStalled = true
    stream.faults.isMute = true
    a.log.append(set('x', 'there'))
    cluster.clock.advance(15_000)
    stream.faults.isStalled = false
    stream.faults.isMute = false
    cluster.clock.advance(10_000)
    expect(a.committed).toHaveLength(1)
    expect(a.rejected).toEqual([])
    expect(valueAt(a, 'x')).toBe('there')
  })

  it('an outage is detected even without requests', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    stream.faults.isDeaf = true
    cluster.clock.advance(20_000)
    expect(a.availabilities).toEqual(['waiting', 'away'])
  })

  it('each node reports the other nodes and the positions that they have applied', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    cluster.open('b')
    cluster.clock.advance(10_000)
    const members = new Map(a.judge.nodes.entries())
    expect([...members.keys()].sort()).toEqual(['a', 'b'])
    expect((members.get('b')?.appliedPosition ?? 0) > 3).toBe(true)
  })
})

describe('a node whose state differs', () => {
  it('every node that receives a message from a node whose state differs detects the difference', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    const { node: b } = cluster.open('b')
    // Simulates a faulty engine.
    b.engine.replay(entryOf(write('SET', 'x', '1')))
    cluster.clock.advance(10_000)
    expect([a.failures, b.failures].flat()).toMatchObject([{ code: 'diverged' }])
  })
})

describe('a stream that was replaced', () => {
  it('a node stops when its new message gets a position that the node has already seen', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    cluster.clock.advance(1_000)
    cluster.streams.messages.splice(0)
    cluster.streams.last = 3
    a.log.append(set('x', 'y'))
    cluster.clock.advance(1_000)
    expect(a.failures).toMatchObject([
      { code: 'damaged', message: expect.stringContaining('the stream lost acknowledged') },
    ])
  })

  it('a node stops if the last message it read is another one, even in a longer stream', () => {
    const cluster = new TestCluster()
    const { node: a, stream } = cluster.open('a')
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    cluster.clock.advance(1_000)
    const { streams } = cluster
    const end = streams.last
    stream.faults.isStalled = true
    streams.messages.splice(-5)
    streams.last -= 5
    while (streams.last < end + 5) streams.put(new Uint8Array([1]))
    a.log.append(set('x', 'y'))
    cluster.clock.advance(3_000)
    stream.faults.isStalled = false
    cluster.clock.advance(3_000)
    expect(a.failures).toMatchObject([
      { code: 'damaged', message: expect.stringContaining('the stream lost acknowledged') },
    ])
  })

  it('a node does not use a replaced stream with a snapshot of the previous stream', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a', { snapshots: { messages: 5 } })
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    cluster.clock.advance(2_000)
    expect(cluster.streams.snapshots.size).toBeGreaterThan(0)
    a.kill()
    cluster.streams.messages.splice(0)
    cluster.streams.last = 0
    const { node: reopened } = cluster.node('a', {}, new FakeStream(cluster.streams))
    cluster.clock.advance(2_000)
    expect(reopened.error).toMatchObject({
      code: 'damaged',
      message: expect.stringContaining('the stream ends at position 0'),
    })
  })
})
