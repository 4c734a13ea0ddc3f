import { defer, EMPTY, type Observable, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type SnapshotName, StreamError } from '../../../../src/server/log/cluster/stream.js'
import { listen } from '../../../support/diagnostics.js'
import { FakeStream } from './fake-stream.js'
import { set, TestCluster, valueAt } from './test-cluster.js'

const OFTEN = { snapshots: { messages: 20 } }

/** Creates a cluster in which two nodes have written several snapshots. */
function clusterWithSnapshot(): ReturnType<typeof clusterWithTwoNodes> {
  const opened = clusterWithTwoNodes()
  for (let round = 0; round < 5; round++) {
    for (let at = 0; at < 30; at++) opened.a.log.append(set(`k${at}`, String(round)))
    opened.a.log.append(set('large', 'x'.repeat(200_000)))
    opened.cluster.clock.advance(2_000)
  }
  return opened
}

/** A stream whose snapshots cannot be listed at first. */
class UnlistableStream extends FakeStream {
  failures = 3
  problem: StreamError['problem'] = 'lost'

  override snapshots(): Observable<readonly SnapshotName[]> {
    if (this.failures-- <= 0) return super.snapshots()
    return throwError(() => new StreamError(this.problem, 'the snapshots cannot be listed: timeout'))
  }
}

function clusterWithTwoNodes() {
  const cluster = new TestCluster()
  const { node: a } = cluster.open('a', OFTEN)
  const { node: b, stream } = cluster.open('b', OFTEN)
  return { cluster, a, b, stream }
}

describe('snapshots of a shared log', () => {
  it('one node at a time writes a snapshot, and trims the stream up to the previous one', () => {
    const { cluster, a, b } = clusterWithSnapshot()
    expect(cluster.streams.snapshots.size).toBe(2)
    expect(cluster.streams.first).toBeGreaterThan(20)
    expect(a.judge.snapshots.previous?.position).toBe(cluster.streams.first - 1)
    expect(a.stateHex).toBe(b.stateHex)
  })

  it('a new node starts from a snapshot', () => {
    const { cluster, a } = clusterWithSnapshot()
    const { node: c } = cluster.open('c')
    cluster.clock.advance(100)
    expect(c.stateHex).toBe(a.stateHex)
    expect(c.judge.digest.value).toBe(a.judge.digest.value)
    c.log.append(set('x', 'from c'))
    cluster.clock.advance(100)
    expect(valueAt(a, 'x')).toBe('from c')
    expect([a.failures, c.failures]).toEqual([[], []])
  })

  it('listing snapshots is retried until the silence timeout if there is no response', () => {
    const { cluster, a } = clusterWithSnapshot()
    const { node: c } = cluster.open('c', {}, new UnlistableStream(cluster.streams))
    cluster.clock.advance(100)
    expect(c.stateHex).toBe(a.stateHex)
    expect(c.reportedErrors).toHaveLength(3)
    const stream = new UnlistableStream(cluster.streams)
    stream.failures = Number.POSITIVE_INFINITY
    const { node: d } = cluster.node('d', {}, stream)
    cluster.clock.advance(29_000)
    expect(d.error).toBeUndefined()
    cluster.clock.advance(1_000)
    expect(d.error).toMatchObject({ code: 'timeout', cause: { message: expect.stringContaining('cannot be listed') } })
    cluster.clock.advance(60_000)
    expect(d.reportedErrors).toHaveLength(60)
  })

  it('listing snapshots is not retried if the request is refused', () => {
    const { cluster } = clusterWithSnapshot()
    const stream = new UnlistableStream(cluster.streams)
    stream.problem = 'refused'
    const { node: c } = cluster.node('c', {}, stream)
    cluster.clock.advance(1)
    expect(c.error).toMatchObject({ problem: 'refused' })
  })

  it('damaged snapshots are skipped if an earlier snapshot is intact', () => {
    const { cluster, a } = clusterWithSnapshot()
    const newest = [...cluster.streams.snapshots.keys()].sort().at(-1) ?? ''
    const blocks = cluster.streams.snapshots.get(newest)
    const block = blocks?.at(-2)
    if (block) block[block.length - 1] = (block.at(-1) ?? 0) ^ 1
    const { node: c } = cluster.open('c')
    cluster.clock.advance(100)
    expect(c.stateHex).toBe(a.stateHex)
  })

  it('snapshots are listed again if none was intact, as one may have been replaced', () => {
    const { cluster, a } = clusterWithSnapshot()
    const snapshots = new Map(cluster.streams.snapshots)
    for (const name of snapshots.keys()) cluster.streams.snapshots.set(name, [])
    const { node: c } = cluster.node('c')
    cluster.clock.advance(100)
    expect([c.opened, c.error]).toEqual([undefined, undefined])
    for (const [name, blocks] of snapshots) cluster.streams.snapshots.set(name, blocks)
    cluster.clock.advance(1_000)
    expect(c.stateHex).toBe(a.stateHex)
  })

  it.each([
    ['cut short', (blocks: Uint8Array[]) => blocks.splice(-1)],
    ['of another format', (blocks: Uint8Array[]) => blocks[0]?.fill(9, 4)],
    ['replaced with zeros', (blocks: Uint8Array[]) => blocks.splice(0, blocks.length, new Uint8Array(50))],
    ['empty', (blocks: Uint8Array[]) => blocks.splice(0)],
  ])('a node does not start if all snapshots are %s', (_, damage) => {
    const { cluster } = clusterWithSnapshot()
    for (const blocks of cluster.streams.snapshots.values()) damage(blocks)
    const { node: c } = cluster.node('c')
    cluster.clock.advance(5_000)
    expect(['damaged', 'format']).toContain((c.error as { code?: string } | undefined)?.code)
  })

  it('a failed snapshot is reported, and the log grows until the next snapshot', () => {
    const cluster = new TestCluster()
    const stream = new FakeStream(cluster.streams)
    stream.putSnapshot = () => throwError(() => new StreamError('lost', 'no space'))
    const { node: a } = cluster.open('a', OFTEN, stream)
    const events = listen('rx-statestore:log')
    for (let at = 0; at < 30; at++) a.log.append(set('k', String(at)))
    cluster.clock.advance(2_000)
    expect(events.filter(({ type }) => type === 'snapshot-failed')).toHaveLength(1)
    expect(a.reportedErrors).toMatchObject([
      { code: 'connection-lost', message: expect.stringMatching(/log grows.*no space/) },
    ])
    expect(a.reportedErrors[0]).not.toBeInstanceOf(StreamError)
    delete (stream as { putSnapshot?: unknown }).putSnapshot
    cluster.clock.advance(65_000)
    expect(cluster.streams.snapshots.size).toBe(1)
  })

  it('orphaned chunks are removed after a later snapshot is complete', () => {
    const cluster = new TestCluster()
    const stream = new FakeStream(cluster.streams)
    const swept: (number | undefined)[] = []
    const { node: a } = cluster.open('a', OFTEN, stream)
    stream.removeOrphans = () =>
      defer(() => {
        swept.push(a.judge.snapshots.latest?.position)
        return EMPTY
      })
    for (let at = 0; at < 30; at++) a.log.append(set('k', String(at)))
    cluster.clock.advance(2_000)
    expect(swept).toEqual([Number([...cluster.streams.snapshots.keys()][0]?.slice(0, 16))])
  })

  it('a node does not start if the stream was trimmed and its snapshots are missing', () => {
    const { cluster, a } = clusterWithSnapshot()
    cluster.streams.snapshots.clear()
    const { node: c } = cluster.node('c')
    cluster.clock.advance(5_000)
    expect(c.error).toMatchObject({ code: 'damaged', message: expect.stringContaining('no snapshot') })
    // The running nodes write the next snapshot.
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < 30; at++) a.log.append(set('x', String(at)))
      cluster.clock.advance(2_000)
    }
    cluster.clock.advance(2_000)
    const { node: d } = cluster.open('d')
    cluster.clock.advance(100)
    expect(d.stateHex).toBe(a.stateHex)
  })

  it('a node that fell behind the trimmed stream loads a snapshot', () => {
    const { cluster, a, b, stream } = clusterWithTwoNodes()
    stream.faults.isStalled = true
    for (let round = 0; round < 5; round++) {
      for (let at = 0; at < 30; at++) a.log.append(set(`k${at}`, String(round)))
      cluster.clock.advance(2_000)
    }
    stream.faults.isStalled = false
    cluster.clock.advance(15_000)
    expect(b.outruns).toBe(1)
    b.kill()
    const { node: reopened } = cluster.open('b', OFTEN, new FakeStream(cluster.streams))
    cluster.clock.advance(100)
    expect(reopened.stateHex).toBe(a.stateHex)
  })

  it('a snapshot includes the pieces of an incomplete entry', () => {
    const { cluster, a, b, stream } = clusterWithTwoNodes()
    let passed = 0
    stream.faults.shouldLose = () => ++passed > 10
    b.log.append(set('large', 'y'.repeat(150_000)))
    cluster.clock.advance(50)
    for (let at = 0; at < 100; at++) a.log.append(set(`k${at}`, 'x'))
    cluster.clock.advance(3_000)
    expect(cluster.streams.snapshots.size).toBeGreaterThan(0)
    const { node: c } = cluster.open('c')
    stream.faults.shouldLose = () => false
    cluster.clock.advance(5_000)
    expect(valueAt(c, 'large')).toHaveLength(150_000)
    expect(c.stateHex).toBe(b.stateHex)
    expect(c.stateHex).toBe(a.stateHex)
  })
})
