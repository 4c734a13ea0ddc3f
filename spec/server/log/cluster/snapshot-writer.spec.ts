import { defer, EMPTY, type Observable, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type SnapshotName, StreamError } from '../../../../src/server/log/cluster/stream.js'
import { FakeStream } from './fake-stream.js'
import { set, valueAt, World } from './world.js'

const OFTEN = { snapshots: { messages: 20 } }

/** A world in which two nodes have written several snapshots. */
function written(): ReturnType<typeof begun> {
  const made = begun()
  for (let round = 0; round < 5; round++) {
    for (let at = 0; at < 30; at++) made.a.log.append(set(`k${at}`, String(round)))
    made.a.log.append(set('large', 'x'.repeat(200_000)))
    made.world.clock.advance(2_000)
  }
  return made
}

/** A stream whose snapshots cannot be listed for some times. */
class Unsettled extends FakeStream {
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

describe('snapshots', () => {
  it('are written by one node at a time, and the stream is trimmed behind the last two', () => {
    const { world, a, b } = written()
    expect(world.cluster.snapshots.size).toBe(2)
    expect(world.cluster.first).toBeGreaterThan(20)
    expect(a.judge.snapshots.previous?.position).toBe(world.cluster.first - 1)
    expect(a.picture).toBe(b.picture)
  })

  it('let a new node begin', () => {
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

  it('are asked for again when nobody answers, as long as a stream may be silent', () => {
    const { world, a } = written()
    const { node: c } = world.open('c', {}, new Unsettled(world.cluster))
    world.clock.advance(100)
    expect(c.picture).toBe(a.picture)
    expect(c.troubles).toHaveLength(3)
    const stream = new Unsettled(world.cluster)
    stream.failures = Number.POSITIVE_INFINITY
    const { node: d } = world.node('d', {}, stream)
    world.clock.advance(29_000)
    expect(d.error).toBeUndefined()
    world.clock.advance(1_000)
    expect(d.error).toMatchObject({ code: 'timeout', cause: { message: expect.stringContaining('cannot be listed') } })
    world.clock.advance(60_000)
    expect(d.troubles).toHaveLength(60)
  })

  it('are not asked for again where that is refused', () => {
    const { world } = written()
    const stream = new Unsettled(world.cluster)
    stream.problem = 'refused'
    const { node: c } = world.node('c', {}, stream)
    world.clock.advance(1)
    expect(c.error).toMatchObject({ problem: 'refused' })
  })

  it('are passed over when they are damaged, as long as the one before is good', () => {
    const { world, a } = written()
    const newest = [...world.cluster.snapshots.keys()].sort().at(-1) ?? ''
    const blocks = world.cluster.snapshots.get(newest)
    const block = blocks?.at(-2)
    if (block) block[block.length - 1] = (block.at(-1) ?? 0) ^ 1
    const { node: c } = world.open('c')
    world.clock.advance(100)
    expect(c.picture).toBe(a.picture)
  })

  it('are listed again when none was good: another one may have taken the place of one that was', () => {
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
  ])('that are all %s let no node begin', (_, damage) => {
    const { world } = written()
    for (const blocks of world.cluster.snapshots.values()) damage(blocks)
    const { node: c } = world.node('c')
    world.clock.advance(5_000)
    expect(['damaged', 'format']).toContain((c.error as { code?: string } | undefined)?.code)
  })

  it('are reported when they cannot be written: until then the log grows', () => {
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

  it('have what was left of others removed, when they count', () => {
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

  it('that are gone let no node begin where the stream was trimmed', () => {
    const { world, a } = written()
    world.cluster.snapshots.clear()
    const { node: c } = world.node('c')
    world.clock.advance(5_000)
    expect(c.error).toMatchObject({ code: 'damaged', message: expect.stringContaining('no snapshot') })
    // Those who run write the next one.
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < 30; at++) a.log.append(set('x', String(at)))
      world.clock.advance(2_000)
    }
    world.clock.advance(2_000)
    const { node: d } = world.open('d')
    world.clock.advance(100)
    expect(d.picture).toBe(a.picture)
  })

  it('are needed by a node that has fallen behind what was trimmed', () => {
    const { world, a, b, stream } = begun()
    stream.faults.stalled = true
    for (let round = 0; round < 5; round++) {
      for (let at = 0; at < 30; at++) a.log.append(set(`k${at}`, String(round)))
      world.clock.advance(2_000)
    }
    stream.faults.stalled = false
    world.clock.advance(15_000)
    expect(b.outruns).toBe(1)
    b.kill()
    const { node: again } = world.open('b', OFTEN, new FakeStream(world.cluster))
    world.clock.advance(100)
    expect(again.picture).toBe(a.picture)
  })

  it('hold what is cut into pieces and not there as a whole', () => {
    const { world, a, b, stream } = begun()
    let passed = 0
    stream.faults.loses = () => ++passed > 10
    b.log.append(set('large', 'y'.repeat(150_000)))
    world.clock.advance(50)
    for (let at = 0; at < 100; at++) a.log.append(set(`k${at}`, 'x'))
    world.clock.advance(3_000)
    expect(world.cluster.snapshots.size).toBeGreaterThan(0)
    const { node: c } = world.open('c')
    stream.faults.loses = () => false
    world.clock.advance(5_000)
    expect(valueAt(c, 'large')).toHaveLength(150_000)
    expect(c.picture).toBe(b.picture)
    expect(c.picture).toBe(a.picture)
  })
})
