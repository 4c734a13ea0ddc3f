import { defer, EMPTY, type Observable, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type SnapshotName, StreamError } from '../../../../src/server/log/cluster/stream.js'
import { FakeStream } from './fake-stream.js'
import { set, valueAt, World } from './world.js'

const OFTEN = { snapshots: { messages: 20 } }

/** Creates a world in which two nodes have written several snapshots. */
function written(): ReturnType<typeof begun> {
  const made = begun()
  for (let round = 0; round < 5; round++) {
    for (let at = 0; at < 30; at++) made.a.log.append(set(`k${at}`, String(round)))
    made.a.log.append(set('large', 'x'.repeat(200_000)))
    made.world.clock.advance(2_000)
  }
  return made
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

function begun() {
  const world = new World()
  const { node: a } = world.open('a', OFTEN)
  const { node: b, stream } = world.open('b', OFTEN)
  return { world, a, b, stream }
}

describe('snapshots of a shared log', () => {
  it('one node at a time writes a snapshot, and the stream is trimmed up to the previous one', () => {
    const { world, a, b } = written()
    expect(world.cluster.snapshots.size).toBe(2)
    expect(world.cluster.first).toBeGreaterThan(20)
    expect(a.judge.snapshots.previous?.position).toBe(world.cluster.first - 1)
    expect(a.picture).toBe(b.picture)
  })

  it('a new node starts from a snapshot', () => {
    const { world, a } = written()
    const { node: c } = world.open('c')
    world.clock.advance(100)
    expect(c.picture).toBe(a.picture)
    expect(c.judge.digest.value).toBe(a.judge.digest.value)
    c.log.append(set('x', 'from c'))
    world.clock.advance(100)
    expect(valueAt(a, 'x')).toBe('from c')
    expect([a.failures, c.failures]).toEqual([[], []])
  })

  it('listing snapshots is retried without a response, until the silence timeout', () => {
    const { world, a } = written()
    const { node: c } = world.open('c', {}, new UnlistableStream(world.cluster))
    world.clock.advance(100)
    expect(c.picture).toBe(a.picture)
    expect(c.troubles).toHaveLength(3)
    const stream = new UnlistableStream(world.cluster)
    stream.failures = Number.POSITIVE_INFINITY
    const { node: d } = world.node('d', {}, stream)
    world.clock.advance(29_000)
    expect(d.error).toBeUndefined()
    world.clock.advance(1_000)
    expect(d.error).toMatchObject({ code: 'timeout', cause: { message: expect.stringContaining('cannot be listed') } })
    world.clock.advance(60_000)
    expect(d.troubles).toHaveLength(60)
  })

  it('listing snapshots is not retried if it is refused', () => {
    const { world } = written()
    const stream = new UnlistableStream(world.cluster)
    stream.problem = 'refused'
    const { node: c } = world.node('c', {}, stream)
    world.clock.advance(1)
    expect(c.error).toMatchObject({ problem: 'refused' })
  })

  it('damaged snapshots are skipped as long as an earlier one is intact', () => {
    const { world, a } = written()
    const newest = [...world.cluster.snapshots.keys()].sort().at(-1) ?? ''
    const blocks = world.cluster.snapshots.get(newest)
    const block = blocks?.at(-2)
    if (block) block[block.length - 1] = (block.at(-1) ?? 0) ^ 1
    const { node: c } = world.open('c')
    world.clock.advance(100)
    expect(c.picture).toBe(a.picture)
  })

  it('snapshots are listed again if none was intact, because an intact one may have been replaced', () => {
    const { world, a } = written()
    const kept = new Map(world.cluster.snapshots)
    for (const name of kept.keys()) world.cluster.snapshots.set(name, [])
    const { node: c } = world.node('c')
    world.clock.advance(100)
    expect([c.opened, c.error]).toEqual([undefined, undefined])
    for (const [name, blocks] of kept) world.cluster.snapshots.set(name, blocks)
    world.clock.advance(1_000)
    expect(c.picture).toBe(a.picture)
  })

  it.each([
    ['cut short', (blocks: Uint8Array[]) => blocks.splice(-1)],
    ['of another format', (blocks: Uint8Array[]) => blocks[0]?.fill(9, 4)],
    ['no snapshot at all', (blocks: Uint8Array[]) => blocks.splice(0, blocks.length, new Uint8Array(50))],
    ['empty', (blocks: Uint8Array[]) => blocks.splice(0)],
  ])('a node does not start if all snapshots are %s', (_, damage) => {
    const { world } = written()
    for (const blocks of world.cluster.snapshots.values()) damage(blocks)
    const { node: c } = world.node('c')
    world.clock.advance(5_000)
    expect(['damaged', 'format']).toContain((c.error as { code?: string } | undefined)?.code)
  })

  it('a failed snapshot is reported, and the log grows until the next one', () => {
    const world = new World()
    const stream = new FakeStream(world.cluster)
    stream.putSnapshot = () => throwError(() => new StreamError('lost', 'no space'))
    const { node: a } = world.open('a', OFTEN, stream)
    for (let at = 0; at < 30; at++) a.log.append(set('k', String(at)))
    world.clock.advance(2_000)
    expect(a.troubles).toMatchObject([
      { code: 'connection-lost', message: expect.stringMatching(/log grows.*no space/) },
    ])
    expect(a.troubles[0]).not.toBeInstanceOf(StreamError)
    delete (stream as { putSnapshot?: unknown }).putSnapshot
    world.clock.advance(65_000)
    expect(world.cluster.snapshots.size).toBe(1)
  })

  it('orphaned chunks are removed once a later snapshot counts', () => {
    const world = new World()
    const stream = new FakeStream(world.cluster)
    const swept: (number | undefined)[] = []
    const { node: a } = world.open('a', OFTEN, stream)
    stream.removeOrphans = () =>
      defer(() => {
        swept.push(a.judge.snapshots.latest?.position)
        return EMPTY
      })
    for (let at = 0; at < 30; at++) a.log.append(set('k', String(at)))
    world.clock.advance(2_000)
    expect(swept).toEqual([Number([...world.cluster.snapshots.keys()][0]?.slice(0, 16))])
  })

  it('a node does not start if the stream was trimmed and its snapshots are missing', () => {
    const { world, a } = written()
    world.cluster.snapshots.clear()
    const { node: c } = world.node('c')
    world.clock.advance(5_000)
    expect(c.error).toMatchObject({ code: 'damaged', message: expect.stringContaining('no snapshot') })
    // The running nodes write the next snapshot.
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < 30; at++) a.log.append(set('x', String(at)))
      world.clock.advance(2_000)
    }
    world.clock.advance(2_000)
    const { node: d } = world.open('d')
    world.clock.advance(100)
    expect(d.picture).toBe(a.picture)
  })

  it('a node that fell behind the trimmed stream loads a snapshot', () => {
    const { world, a, b, stream } = begun()
    stream.faults.isStalled = true
    for (let round = 0; round < 5; round++) {
      for (let at = 0; at < 30; at++) a.log.append(set(`k${at}`, String(round)))
      world.clock.advance(2_000)
    }
    stream.faults.isStalled = false
    world.clock.advance(15_000)
    expect(b.outruns).toBe(1)
    b.kill()
    const { node: again } = world.open('b', OFTEN, new FakeStream(world.cluster))
    world.clock.advance(100)
    expect(again.picture).toBe(a.picture)
  })

  it('a snapshot includes the pieces of an incomplete entry', () => {
    const { world, a, b, stream } = begun()
    let passed = 0
    stream.faults.shouldLose = () => ++passed > 10
    b.log.append(set('large', 'y'.repeat(150_000)))
    world.clock.advance(50)
    for (let at = 0; at < 100; at++) a.log.append(set(`k${at}`, 'x'))
    world.clock.advance(3_000)
    expect(world.cluster.snapshots.size).toBeGreaterThan(0)
    const { node: c } = world.open('c')
    stream.faults.shouldLose = () => false
    world.clock.advance(5_000)
    expect(valueAt(c, 'large')).toHaveLength(150_000)
    expect(c.picture).toBe(b.picture)
    expect(c.picture).toBe(a.picture)
  })
})
