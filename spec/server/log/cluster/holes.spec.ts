import { describe, expect, it } from 'vitest'
import { degradedError } from '../../../../src/server/log/cluster/errors.js'
import { FakeStream } from './fake-stream.js'
import { set, TestCluster, valueAt } from './test-cluster.js'

function clusterWithEntries(entries: number) {
  const cluster = new TestCluster()
  const { node: a } = cluster.open('a')
  for (let at = 0; at < entries; at++) a.log.append(set('x', String(at)))
  cluster.clock.advance(2_000)
  return { cluster, a }
}

describe('a hole in the stream', () => {
  it('a node reports a hole, reopens the stream and catches up from an intact replica', () => {
    const { cluster } = clusterWithEntries(50)
    const allMessages = Array.from(cluster.streams.messages)
    cluster.streams.lose(20, 30)
    const { node: b } = cluster.node('b')
    cluster.clock.advance(200)
    expect(b.reportedErrors).toMatchObject([
      { code: 'damaged', message: expect.stringMatching(/from position 20 to 30 are missing/) },
    ])
    const last = cluster.streams.messages.at(-1)?.position ?? 0
    cluster.streams.messages.splice(
      0,
      Number.POSITIVE_INFINITY,
      ...allMessages.filter(({ position }) => position <= last),
    )
    cluster.clock.advance(5_000)
    expect([b.error, valueAt(b, 'x')]).toEqual([undefined, '49'])
  })

  it('a node does not start if all replicas have the hole, and reports the reason', () => {
    const { cluster } = clusterWithEntries(50)
    cluster.streams.lose(20, 30)
    const { node: b } = cluster.node('b')
    cluster.clock.advance(20_000)
    expect(b.error).toMatchObject({
      code: 'damaged',
      message: expect.stringMatching(/from position 20 to 30 are missing/),
    })
  })

  it('a lagging node that reaches a hole is notified and reopens the stream', () => {
    const { cluster, a } = clusterWithEntries(5)
    const { node: b, stream } = cluster.open('b')
    stream.faults.isStalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    cluster.clock.advance(100)
    cluster.streams.lose(15, 16)
    stream.faults.isStalled = false
    a.log.append(set('x', 'more'))
    cluster.clock.advance(3_000)
    expect(b.outruns).toBe(1)
    expect(b.reportedErrors).toMatchObject([{ message: expect.stringMatching(/from position 15 to 16 are missing/) }])
  })

  it('a trimmed stream is not mistaken for a hole', () => {
    const { cluster, a } = clusterWithEntries(5)
    const { node: b, stream } = cluster.open('b')
    stream.faults.isStalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    cluster.clock.advance(100)
    cluster.streams.trim(15)
    stream.faults.isStalled = false
    a.log.append(set('x', 'more'))
    cluster.clock.advance(3_000)
    expect([b.outruns, b.reportedErrors]).toEqual([1, []])
  })

  it('a node reopens the stream even if it cannot query the stream about missing positions', () => {
    const { cluster, a } = clusterWithEntries(5)
    const { node: b, stream } = cluster.open('b', {}, new FakeStream(cluster.streams))
    stream.faults.isStalled = true
    for (let at = 0; at < 20; at++) a.log.append(set('x', String(at)))
    cluster.clock.advance(100)
    cluster.streams.lose(15, 16)
    stream.faults.isDeaf = true
    stream.faults.isStalled = false
    a.log.append(set('x', 'more'))
    cluster.clock.advance(3_000)
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
