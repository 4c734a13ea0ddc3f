import { describe, expect, it } from 'vitest'
import { FakeStream } from './fake-stream.js'
import { set, valueAt, World } from './world.js'

describe('a replicated log', () => {
  it('an entry is committed when it is in the stream, and other nodes receive it', () => {
    const world = new World()
    const { node: a } = world.open('a')
    const { node: b } = world.open('b')
    const entry = set('x', '1')
    a.log.append(entry)
    expect(a.committed).toEqual([])
    world.clock.advance(20)
    expect(a.committed[0]?.commands).toBe(entry.commands)
    expect(b.foreign.at(-1)?.commands).toEqual(entry.commands)
    expect([valueAt(a, 'x'), valueAt(b, 'x')]).toEqual(['1', '1'])
    expect(a.picture).toBe(b.picture)
    expect(a.judge.digest.value).toBe(b.judge.digest.value)
  })

  it('an entry has the time of the stream', () => {
    const world = new World()
    const { node: a } = world.open('a')
    world.cluster.clockOffsetMs = 5_000
    const sent = world.clock.now()
    a.log.append(set('x', '1'))
    world.clock.advance(20)
    expect(a.committed[0]?.time).toBe(sent + 5_000 + 1)
  })

  it("the order of a node's entries is kept when messages are lost in between", () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const { node: b } = world.open('b')
    let chance = 7
    stream.faults.shouldLose = () => {
      chance = (chance * 16_807) % 2_147_483_647
      return chance % 3 === 1
    }
    const entries = Array.from({ length: 40 }, (_, at) => set(`k${at % 4}`, String(at)))
    for (const entry of entries) a.log.append(entry)
    world.clock.advance(60_000)
    expect(a.committed.map(({ commands }) => commands)).toEqual(entries.map(({ commands }) => commands))
    expect(a.picture).toBe(b.picture)
    expect(a.rejected).toEqual([])
  })

  it('an entry stored twice is applied once', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const { node: b } = world.open('b')
    stream.faults.copies = 3
    for (let at = 0; at < 10; at++) a.log.append(set('x', String(at)))
    world.clock.advance(1_000)
    expect(a.committed).toHaveLength(10)
    expect(b.changes.filter(({ notification }) => notification.op === 'set')).toHaveLength(10)
    expect(a.picture).toBe(b.picture)
  })

  it('an unacknowledged message is resent, and applied once', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    stream.faults.isMute = true
    stream.faults.isStalled = true
    a.log.append(set('x', '1'))
    world.clock.advance(2_500)
    stream.faults.isStalled = false
    stream.faults.isMute = false
    world.clock.advance(5_000)
    expect(a.committed).toHaveLength(1)
  })

  it('at most 16 messages are in flight', () => {
    const world = new World()
    const { node: a, stream } = world.open('a')
    const before = stream.published
    for (let at = 0; at < 100; at++) a.log.append(set('x', String(at)))
    expect(stream.published - before).toBe(16)
    world.clock.advance(1_000)
    expect(a.committed).toHaveLength(100)
  })

  it('an entry larger than a message is split and applied as a whole', () => {
    const world = new World()
    const { node: a } = world.open('a')
    const { node: b } = world.open('b')
    a.log.append(set('x', 'y'.repeat(30_000)))
    a.log.append(set('z', '1'))
    world.clock.advance(1_000)
    expect(a.committed).toHaveLength(2)
    expect(valueAt(b, 'x')).toHaveLength(30_000)
    expect(a.picture).toBe(b.picture)
  })

  it('a stalled subscription is restarted', () => {
    const world = new World()
    const { node: a } = world.open('a')
    const stream = new FakeStream(world.cluster)
    const { node: b } = world.open('b', {}, stream)
    stream.faults.isStalled = true
    a.log.append(set('x', '1'))
    world.clock.advance(1_000)
    expect(valueAt(b, 'x')).toBeUndefined()
    stream.faults.isStalled = false
    world.clock.advance(10_000)
    expect(valueAt(b, 'x')).toBe('1')
  })

  it('a message that no node sent is ignored and reported', () => {
    const world = new World()
    const { node: a } = world.open('a')
    const { node: b } = world.open('b')
    world.cluster.put(new Uint8Array([1, 2, 3]))
    const message = world.cluster.messages[1]
    if (message) world.cluster.put(message.bytes.subarray(0, -2))
    a.log.append(set('x', '1'))
    world.clock.advance(11_000)
    expect(a.troubles).toMatchObject([{ code: 'damaged' }, { code: 'damaged' }])
    expect([valueAt(b, 'x'), a.picture]).toEqual(['1', b.picture])
  })
})
