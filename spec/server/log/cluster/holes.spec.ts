import { describe, expect, it } from 'vitest'
import { degradedError } from '../../../../src/server/log/cluster/errors.js'
import { FakeStream } from './fake-stream.js'
import { set, valueAt, World } from './world.js'

function worldWithEntries(entries: number) {
  const world = new World()
  const { node: a } = world.open('a')
  for (let at = 0; at < entries; at++) a.log.append(set('x', String(at)))
  world.clock.advance(2_000)
  return { world, a }
}

describe('a hole in the stream', () => {
  it('a node that meets a hole reports it, reopens, and catches up once it reads an intact replica', () => {
    const { world } = worldWithEntries(50)
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

  it('a node does not start, and says why, if the hole is in all replicas', () => {
    const { world } = worldWithEntries(50)
    world.cluster.lose(20, 30)
    const { node: b } = world.node('b')
    world.clock.advance(20_000)
    expect(b.error).toMatchObject({
      code: 'damaged',
      message: expect.stringMatching(/from position 20 to 30 are missing/),
    })
  })

  it('a lagging node that meets a hole is notified and reopened', () => {
    const { world, a } = worldWithEntries(5)
    const { node: b, stream } = world.open('b')
    stream.faults.isStalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    world.clock.advance(100)
    world.cluster.lose(15, 16)
    stream.faults.isStalled = false
    a.log.append(set('x', 'more'))
    world.clock.advance(3_000)
    expect(b.outruns).toBe(1)
    expect(b.troubles).toMatchObject([{ message: expect.stringMatching(/from position 15 to 16 are missing/) }])
  })

  it('a trimmed stream is not mistaken for a hole', () => {
    const { world, a } = worldWithEntries(5)
    const { node: b, stream } = world.open('b')
    stream.faults.isStalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    world.clock.advance(100)
    world.cluster.trim(15)
    stream.faults.isStalled = false
    a.log.append(set('x', 'more'))
    world.clock.advance(3_000)
    expect([b.outruns, b.troubles]).toEqual([1, []])
  })

  it('a node that cannot query the stream about missing positions reopens nevertheless', () => {
    const { world, a } = worldWithEntries(5)
    const { node: b, stream } = world.open('b', {}, new FakeStream(world.cluster))
    stream.faults.isStalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    world.clock.advance(100)
    world.cluster.lose(15, 16)
    stream.faults.isDeaf = true
    stream.faults.isStalled = false
    a.log.append(set('x', 'more'))
    world.clock.advance(3_000)
    expect(b.outruns).toBe(1)
  })
})

describe('a degraded stream', () => {
  it('a stream with missing messages or lagging servers is reported', () => {
    expect(degradedError({ first: 1, last: 9, missingCount: 0, laggingServers: [] })).toBeUndefined()
    expect(degradedError({ first: 1, last: 9, missingCount: 3, laggingServers: ['b'] })).toMatchObject({
      code: 'damaged',
      message: expect.stringContaining('lacks 3 of the messages between positions 1 and 9'),
    })
    expect(degradedError({ first: 1, last: 9, laggingServers: ['b', 'c'] })?.message).toContain(
      'unreachable or incomplete: b, c',
    )
  })
})
