import { type Observable, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type SnapshotName, type StreamBounds, StreamError } from '../../../../src/server/log/cluster/stream.js'
import { FakeStream } from './fake-stream.js'
import { set, TestCluster, valueAt } from './test-cluster.js'

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

const reluctant = (
  cluster: TestCluster,
  refusals: number,
  problem: StreamError['problem'] = 'lost',
): UnresponsiveStream => Object.assign(new UnresponsiveStream(cluster.streams), { refusals, problem })

describe('opening a node', () => {
  it('unanswered requests are retried, because servers that have just started may not respond', () => {
    const cluster = new TestCluster()
    const { node: a } = cluster.open('a')
    a.log.append(set('x', '1'))
    cluster.clock.advance(100)
    const { node: b } = cluster.open('b', {}, reluctant(cluster, 5))
    expect(b.reportedErrors).toMatchObject(Array.from({ length: 5 }, () => ({ problem: 'lost' })))
    expect(valueAt(b, 'x')).toBe('1')
  })

  it('opening fails with the reason when requests remain unanswered for too long', () => {
    const cluster = new TestCluster()
    const { node } = cluster.node('a', {}, reluctant(cluster, Number.POSITIVE_INFINITY))
    cluster.clock.advance(29_000)
    expect(node.error).toBeUndefined()
    cluster.clock.advance(1_000)
    expect(node.error).toMatchObject({ code: 'timeout', cause: { message: 'no answer' } })
    const errorCount = node.reportedErrors.length
    cluster.clock.advance(60_000)
    expect(node.reportedErrors).toHaveLength(errorCount)
  })

  it('refused requests are not retried', () => {
    const cluster = new TestCluster()
    const { node } = cluster.node('a', {}, reluctant(cluster, 1, 'refused'))
    cluster.clock.advance(10_000)
    expect(node.error).toMatchObject({ problem: 'refused' })
  })
})
