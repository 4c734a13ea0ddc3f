import { describe, expect, it } from 'vitest'
import { FakeStream } from './fake-stream.js'
import { entryOf, set, valueAt, World, write } from './world.js'

describe('the lives of a node', () => {
  it('are told apart: what an old one sent late counts no more', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const { node: b } = world.open('b')
    stream.faults.loses = bytes => {
      // It comes when the next life has begun.
      world.clock.schedule(5_000, () => world.cluster.put(bytes))
      return true
    }
    a.log.append(set('x', 'late'))
    world.clock.advance(10)
    a.kill()
    stream.faults.loses = () => false
    const { node: again } = world.open('a')
    world.clock.advance(10_000)
    expect([valueAt(again, 'x'), valueAt(b, 'x')]).toEqual([undefined, undefined])
    expect(again.picture).toBe(b.picture)
  })

  it('end when another process has the same id: the first one stops, and says so', () => {
    const world = new World()
    const { node: first } = world.open('a')
    const { node: second } = world.open('a')
    world.clock.advance(100)
    expect(first.failures).toMatchObject([{ code: 'superseded' }])
    expect(second.failures).toEqual([])
    first.log.append(set('x', '1'))
    expect(first.rejected).toMatchObject([{ failure: { problem: 'unavailable' } }])
  })

  it('begin though the start of one before comes late, of a process that was killed', () => {
    const world = new World()
    world.open('a').node.kill()
    const late = new FakeStream(world.cluster)
    late.faults.loses = bytes => {
      world.clock.schedule(500, () => world.cluster.put(bytes))
      return true
    }
    const { node: killed } = world.node('a', {}, late)
    world.clock.advance(50)
    killed.kill()
    const { node: again, stream } = world.node('a')
    stream.faults.loses = () => true
    world.clock.advance(600)
    stream.faults.loses = () => false
    world.clock.advance(5_000)
    expect(again.error).toBeUndefined()
    again.log.append(set('x', '1'))
    world.clock.advance(100)
    expect(valueAt(again, 'x')).toBe('1')
  })

  it('begin anew when the log was away: what was on its way comes before that or never, for certain', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const { node: b } = world.open('b')
    stream.faults.deaf = true
    a.log.append(set('x', 'old'))
    world.clock.advance(20_000)
    expect(a.availabilities).toEqual(['waiting', 'away'])
    expect([a.committed, a.rejected]).toEqual([[], []])
    stream.faults.deaf = false
    world.clock.advance(5_000)
    expect(a.availabilities).toEqual(['waiting', 'away', 'kept'])
    expect(a.rejected).toMatchObject([{ failure: { problem: 'unavailable' } }])
    expect(valueAt(b, 'x')).toBeUndefined()
    a.log.append(set('x', 'new'))
    world.clock.advance(100)
    expect([valueAt(a, 'x'), valueAt(b, 'x')]).toEqual(['new', 'new'])
  })

  it('begin with a whole entry, when one was away that is larger than what may be on its way', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const { node: b } = world.open('b')
    stream.faults.deaf = true
    a.log.append(set('large', 'y'.repeat(200_000)))
    a.log.append(set('x', 'old'))
    world.clock.advance(20_000)
    stream.faults.deaf = false
    world.clock.advance(5_000)
    a.log.append(set('z', 'new'))
    world.clock.advance(1_000)
    expect([valueAt(b, 'large'), valueAt(b, 'z')]).toEqual([undefined, 'new'])
    expect(a.picture).toBe(b.picture)
    expect([a.failures, b.failures]).toEqual([[], []])
    expect(a.committed.length + a.rejected.length).toBe(3)
  })

  it('keep what came into the stream before the next one, and tell it as committed', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    stream.faults.stalled = true
    stream.faults.mute = true
    a.log.append(set('x', 'there'))
    world.clock.advance(15_000)
    stream.faults.stalled = false
    stream.faults.mute = false
    world.clock.advance(10_000)
    expect(a.committed).toHaveLength(1)
    expect(a.rejected).toEqual([])
    expect(valueAt(a, 'x')).toBe('there')
  })

  it('are found out without anybody asking for anything', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    stream.faults.deaf = true
    world.clock.advance(20_000)
    expect(a.availabilities).toEqual(['waiting', 'away'])
  })

  it('are seen by others, with what they have applied', () => {
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
  it('is found out by all who hear of it', () => {
    const world = new World()
    const { node: a } = world.open('a')
    const { node: b } = world.open('b')
    // One that errs.
    b.engine.replay(entryOf(write('SET', 'x', '1')))
    world.clock.advance(10_000)
    expect([a.failures, b.failures].flat()).toMatchObject([{ code: 'diverged' }])
  })
})

describe('a stream that is not what it was', () => {
  it('stops a node whose new message gets a position that it has seen', () => {
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

  it('is not taken for the log of a snapshot', () => {
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
