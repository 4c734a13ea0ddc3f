import { describe, expect, it } from 'vitest'
import { degradedError } from '../../../../src/server/log/cluster/errors.js'
import { FakeStream } from './fake-stream.js'
import { set, valueAt, World } from './world.js'

/** A world whose log has so many entries. */
function written(entries: number) {
  const world = new World()
  const { node: a } = world.open('a')
  for (let at = 0; at < entries; at++) a.log.append(set('x', String(at)))
  world.clock.advance(2_000)
  return { world, a }
}

describe('a hole in the stream', () => {
  it('is named by a node that meets it, which begins anew, and goes on once a copy without it is read', () => {
    const { world } = written(50)
    const whole = Array.from(world.cluster.messages)
    world.cluster.lose(20, 30)
    const { node: b } = world.node('b')
    world.clock.advance(200)
    expect(b.troubles).toMatchObject([
      { code: 'damaged', message: expect.stringMatching(/from position 20 to 30 are missing/) },
    ])
    const last = world.cluster.messages.at(-1)?.position ?? 0
    world.cluster.messages.splice(0, Number.POSITIVE_INFINITY, ...whole.filter(({ position }) => position <= last))
    world.clock.advance(5_000)
    expect([b.error, valueAt(b, 'x')]).toEqual([undefined, '49'])
  })

  it('in all copies is why a node does not begin, and it says so', () => {
    const { world } = written(50)
    world.cluster.lose(20, 30)
    const { node: b } = world.node('b')
    world.clock.advance(20_000)
    expect(b.error).toMatchObject({
      code: 'damaged',
      message: expect.stringMatching(/from position 20 to 30 are missing/),
    })
  })

  it('is met by a node that was behind: it is told, and the node is opened anew', () => {
    const { world, a } = written(5)
    const { node: b, stream } = world.open('b')
    stream.faults.stalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    world.clock.advance(100)
    world.cluster.lose(15, 16)
    stream.faults.stalled = false
    a.log.append(set('x', 'more'))
    world.clock.advance(3_000)
    expect(b.outruns).toBe(1)
    expect(b.troubles).toMatchObject([{ message: expect.stringMatching(/from position 15 to 16 are missing/) }])
  })

  it('is not what a trimmed stream is taken for', () => {
    const { world, a } = written(5)
    const { node: b, stream } = world.open('b')
    stream.faults.stalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    world.clock.advance(100)
    world.cluster.trim(15)
    stream.faults.stalled = false
    a.log.append(set('x', 'more'))
    world.clock.advance(3_000)
    expect([b.outruns, b.troubles]).toEqual([1, []])
  })

  it('is asked for in vain by a node that nobody answers, and then it begins anew all the same', () => {
    const { world, a } = written(5)
    const { node: b, stream } = world.open('b', {}, new FakeStream(world.cluster))
    stream.faults.stalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    world.clock.advance(100)
    world.cluster.lose(15, 16)
    stream.faults.deaf = true
    stream.faults.stalled = false
    a.log.append(set('x', 'more'))
    world.clock.advance(3_000)
    expect(b.outruns).toBe(1)
  })
})

describe('a stream that is not kept as it should be', () => {
  it('is one with fewer messages than it has positions, or with servers that are behind', () => {
    expect(degradedError({ first: 1, last: 9, missingCount: 0, laggingServers: [] })).toBeUndefined()
    expect(degradedError({ first: 1, last: 9, missingCount: 3, laggingServers: ['b'] })).toMatchObject({
      code: 'damaged',
      message: expect.stringContaining('lacks 3 of the messages between positions 1 and 9'),
    })
    expect(degradedError({ first: 1, last: 9, laggingServers: ['b', 'c'] })?.message).toContain('b, c are unreachable')
  })
})
