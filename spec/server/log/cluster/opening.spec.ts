import { type Observable, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type SnapshotName, type StreamBounds, StreamError } from '../../../../src/server/log/cluster/stream.js'
import { FakeStream } from './fake-stream.js'
import { set, valueAt, World } from './world.js'

/** A connection to servers that do not respond to the first requests. */
class UnresponsiveStream extends FakeStream {
  refusals = 0
  problem: StreamError['problem'] = 'lost'

  override snapshots(): Observable<readonly SnapshotName[]> {
    return this.#unless(() => super.snapshots())
  }

  override bounds(): Observable<StreamBounds> {
    return this.#unless(() => super.bounds())
  }

  #unless<T>(ask: () => Observable<T>): Observable<T> {
    if (this.refusals === 0) return ask()
    this.refusals--
    return throwError(() => new StreamError(this.problem, 'no answer'))
  }
}

const reluctant = (world: World, refusals: number, problem: StreamError['problem'] = 'lost'): UnresponsiveStream =>
  Object.assign(new UnresponsiveStream(world.cluster), { refusals, problem })

describe('opening a node', () => {
  it('unanswered requests are retried, as with servers that have just started', () => {
    const world = new World()
    const { node: a } = world.open('a')
    a.log.append(set('x', '1'))
    world.clock.advance(100)
    const { node: b } = world.open('b', {}, reluctant(world, 5))
    expect(b.troubles).toMatchObject(Array.from({ length: 5 }, () => ({ problem: 'lost' })))
    expect(valueAt(b, 'x')).toBe('1')
  })

  it('opening fails with the reason when requests remain unanswered for too long', () => {
    const world = new World()
    const { node } = world.node('a', {}, reluctant(world, Number.POSITIVE_INFINITY))
    world.clock.advance(29_000)
    expect(node.error).toBeUndefined()
    world.clock.advance(1_000)
    expect(node.error).toMatchObject({ code: 'timeout', cause: { message: 'no answer' } })
    const heard = node.troubles.length
    world.clock.advance(60_000)
    expect(node.troubles).toHaveLength(heard)
  })

  it('refused requests are not retried', () => {
    const world = new World()
    const { node } = world.node('a', {}, reluctant(world, 1, 'refused'))
    world.clock.advance(10_000)
    expect(node.error).toMatchObject({ problem: 'refused' })
  })
})
