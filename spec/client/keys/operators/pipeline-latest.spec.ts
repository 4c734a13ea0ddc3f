import { of, Subject } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { type PipelineOptions, pipeline } from '../../../../src/client/keys/operators/pipeline.js'
import { marbleTest } from '../../../support/marble-test.js'
import { Requests } from '../../../support/operator-requests.js'

/** Maps items of the first half of the alphabet to one key and all others to a second key. */
const keyOf = (item: string): string => (item < 'n' ? 'first' : 'second')

const run = (m: Context, source: string, requests: Requests, options: PipelineOptions = {}) =>
  m.cold<string>(source).pipe(pipeline(requests.of, keyOf, { ...options, latest: true }))

describe('a pipeline with `latest`', () => {
  marbleTest('a pipeline with `latest` keeps only the newest queued item of a key', m => {
    const requests = new Requests(m, { a: '-----(a|)', b: '', c: '', d: '--(d|)' })
    m.equal(run(m, ' abcd|', requests), '-----a-(d|)')
    requests.expect('a', '  ^----!')
    requests.expect('b')
    requests.expect('c')
    requests.expect('d', '  -----^-!')
  })

  marbleTest('a pipeline with `latest` has one request of a key in flight, even below the concurrency limit', m => {
    const requests = new Requests(m, { a: '--(a|)', b: '--(b|)', c: '--(c|)' })
    m.equal(run(m, ' ab-c|', requests, { concurrency: 64 }), '--a-b-(c|)')
    requests.expect('a', '  ^-!')
    requests.expect('b', '  --^-!')
    requests.expect('c', '  ----^-!')
  })

  marbleTest('a pipeline with `latest` sends every item of an idle key', m => {
    const requests = new Requests(m, { a: '(a|)', b: '-(b|)', c: '(c|)' })
    m.equal(run(m, 'a-b-c|', requests), 'a--bc|')
  })

  marbleTest('a pipeline with `latest` treats keys independently: no key waits for or replaces another', m => {
    const requests = new Requests(m, { a: '------(a|)', b: '', c: '-----(c|)', x: '-(x|)', y: '-(y|)', z: '-(z|)' })
    m.equal(run(m, ' axybcz|', requests), '------(axy)(cz|)')
    requests.expect('a', '  ^-----!')
    requests.expect('x', '  -^!')
    requests.expect('y', '  --^!')
    requests.expect('z', '  -----^!')
    requests.expect('b')
    requests.expect('c', '  ------^----!')
  })

  marbleTest('a pipeline with `latest` replaces an item that waits for a free slot', m => {
    const requests = new Requests(m, { a: '----(a|)', y: '', z: '-(z|)' })
    m.equal(run(m, ' ayz|', requests, { concurrency: 1 }), '----a(z|)')
    requests.expect('y')
  })

  marbleTest('a pipeline with `latest` emits the result at the position of the newer item', m => {
    const requests = new Requests(m, { a: '---(a|)', b: '', c: '----(c|)', z: '-(z|)' })
    m.equal(run(m, ' abzc|', requests), '---(az)(c|)')
    requests.expect('b')
    requests.expect('c', '  ---^---!')
  })

  marbleTest('a pipeline with `latest` starts its queued items after the source has ended, then completes', m => {
    const requests = new Requests(m, { a: '---(a|)', b: '--(b|)' })
    m.equal(run(m, ' ab|', requests), '---a-(b|)')
  })

  marbleTest('a pipeline with `latest` can send another item of a key whose request ended without a result', m => {
    const requests = new Requests(m, { a: '--|', b: '-(b|)' })
    m.equal(run(m, ' ab|', requests), '---(b|)')
  })

  marbleTest('a pipeline with `latest` starts no queued item after unsubscribe', m => {
    const requests = new Requests(m, { a: '---(a|)', b: '(b|)' })
    m.expect(run(m, ' ab|', requests), '^-!').toBeObservable('---')
    requests.expect('a', '             ^-!')
    requests.expect('b')
  })

  marbleTest('a pipeline with `latest` ends with the error of a request, regardless of queued items', m => {
    const requests = new Requests(m, { a: '---#', b: '(b|)', z: '-' })
    m.equal(run(m, ' azb|', requests), '---#')
    requests.expect('z', '  -^-!')
    requests.expect('b')
  })

  it('a pipeline without `latest` sends all items', () => {
    const results: string[] = []
    const first = new Subject<string>()
    const request = (item: string) => (item === 'a' ? first : of(item))
    of('a', 'b', 'c')
      .pipe(pipeline(request, keyOf, { latest: false }))
      .subscribe(result => results.push(result))
    first.next('a')
    first.complete()
    expect(results).toEqual(['a', 'b', 'c'])
  })
})
