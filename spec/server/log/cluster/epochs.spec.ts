import { describe, expect, it } from 'vitest'
import { FakeStream } from './fake-stream.js'
import { entryOf, set, valueAt, World, write } from './world.js'

describe('the epochs of a node', () => {
  it('messages of an earlier epoch no longer count', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const { node: b } = world.open('b')
    stream.faults.shouldLose = bytes => {
      // It arrives after the next epoch has started.
      world.clock.schedule(5_000, () => world.cluster.put(bytes))
      return true
    }
    a.log.append(set('x', 'late'))
    world.clock.advance(10)
    a.kill()
    stream.faults.shouldLose = () => false
    const { node: again } = world.open('a')
    world.clock.advance(10_000)
    expect([valueAt(again, 'x'), valueAt(b, 'x')]).toEqual([undefined, undefined])
    expect(again.picture).toBe(b.picture)
  })

  it('a node stops with the reason when another process has the same id', () => {
    const world = new World()
    const { node: first } = world.open('a')
    const { node: second } = world.open('a')
    world.clock.advance(100)
    expect(first.failures).toMatchObject([{ code: 'superseded' }])
    expect(second.failures).toEqual([])
    first.log.append(set('x', '1'))
    expect(first.rejected).toMatchObject([{ failure: { problem: 'unavailable' } }])
  })

  it('an epoch starts even if the start of an earlier one, of a killed process, arrives late', () => {
    const world = new World()
    world.open('a').node.kill()
    const late = new FakeStream(world.cluster)
    late.faults.shouldLose = bytes => {
      world.clock.schedule(500, () => world.cluster.put(bytes))
      return true
    }
    const { node: killed } = world.node('a', {}, late)
    world.clock.advance(50)
    killed.kill()
    const { node: again, stream } = world.node('a')
    stream.faults.shouldLose = () => true
    world.clock.advance(600)
    stream.faults.shouldLose = () => false
    world.clock.advance(5_000)
    expect(again.error).toBeUndefined()
    again.log.append(set('x', '1'))
    world.clock.advance(100)
    expect(valueAt(again, 'x')).toBe('1')
  })

  it('after an outage a new epoch starts, and messages in flight are stored before it or never', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const { node: b } = world.open('b')
    stream.faults.isDeaf = true
    a.log.append(set('x', 'old'))
    world.clock.advance(20_000)
    expect(a.availabilities).toEqual(['waiting', 'away'])
    expect([a.committed, a.rejected]).toEqual([[], []])
    stream.faults.isDeaf = false
    world.clock.advance(5_000)
    expect(a.availabilities).toEqual(['waiting', 'away', 'kept'])
    expect(a.rejected).toMatchObject([{ failure: { problem: 'unavailable' } }])
    expect(valueAt(b, 'x')).toBeUndefined()
    a.log.append(set('x', 'new'))
    world.clock.advance(100)
    expect([valueAt(a, 'x'), valueAt(b, 'x')]).toEqual(['new', 'new'])
  })

  it('a new epoch starts with a whole entry if the entry in flight exceeds the in-flight window', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const { node: b } = world.open('b')
    stream.faults.isDeaf = true
    a.log.append(set('large', 'y'.repeat(200_000)))
    a.log.append(set('x', 'old'))
    world.clock.advance(20_000)
    stream.faults.isDeaf = false
    world.clock.advance(5_000)
    a.log.append(set('z', 'new'))
    world.clock.advance(1_000)
    expect([valueAt(b, 'large'), valueAt(b, 'z')]).toEqual([undefined, 'new'])
    expect(a.picture).toBe(b.picture)
    expect([a.failures, b.failures]).toEqual([[], []])
    expect(a.committed.length + a.rejected.length).toBe(3)
  })

  it('messages stored before a new epoch are kept and reported as committed', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    stream.faults.isStalled = true
    stream.faults.isMute = true
    a.log.append(set('x', 'there'))
    world.clock.advance(15_000)
    stream.faults.isStalled = false
    stream.faults.isMute = false
    world.clock.advance(10_000)
    expect(a.committed).toHaveLength(1)
    expect(a.rejected).toEqual([])
    expect(valueAt(a, 'x')).toBe('there')
  })

  it('an outage is detected without any requests', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    stream.faults.isDeaf = true
    world.clock.advance(20_000)
    expect(a.availabilities).toEqual(['waiting', 'away'])
  })

  it('nodes see each other and the positions they have applied', () => {
    const world = new World()
    const { node: a } = world.open('a')
    world.open('b')
    world.clock.advance(10_000)
    const members = new Map(a.judge.nodes.entries())
    expect([...members.keys()].sort()).toEqual(['a', 'b'])
    expect((members.get('b')?.appliedPosition ?? 0) > 3).toBe(true)
  })
})

describe('a node whose state differs', () => {
  it('a different state is detected by all nodes that receive a message from it', () => {
    const world = new World()
    const { node: a } = world.open('a')
    const { node: b } = world.open('b')
    // A faulty engine.
    b.engine.replay(entryOf(write('SET', 'x', '1')))
    world.clock.advance(10_000)
    expect([a.failures, b.failures].flat()).toMatchObject([{ code: 'diverged' }])
  })
})

describe('a stream that was replaced', () => {
  it('a node stops when its new message gets a position that it has already seen', () => {
    const world = new World()
    const { node: a } = world.open('a')
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    world.clock.advance(1_000)
    world.cluster.messages.splice(0)
    world.cluster.last = 3
    a.log.append(set('x', 'y'))
    world.clock.advance(1_000)
    expect(a.failures).toMatchObject([
      { code: 'damaged', message: expect.stringContaining('the stream lost acknowledged') },
    ])
  })

  it('a replaced stream is not used with a snapshot of the old one', () => {
    const world = new World()
    const { node: a } = world.open('a', { snapshots: { messages: 5 } })
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    world.clock.advance(2_000)
    expect(world.cluster.snapshots.size).toBeGreaterThan(0)
    a.kill()
    world.cluster.messages.splice(0)
    world.cluster.last = 0
    const { node: again } = world.node('a', {}, new FakeStream(world.cluster))
    world.clock.advance(2_000)
    expect(again.error).toMatchObject({
      code: 'damaged',
      message: expect.stringContaining('the stream ends at position 0'),
    })
  })
})
