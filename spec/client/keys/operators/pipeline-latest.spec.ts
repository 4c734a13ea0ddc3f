import { of, Subject } from 'rxjs'
import { type Context, marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { type PipelineOptions, pipeline } from '../../../../src/client/keys/operators/pipeline.js'
import { Requests } from '../../../support/operator-requests.js'

/** Items of the first half of the alphabet belong to one key, the others to a second. */
const keyOf = (item: string): string => (item < 'n' ? 'first' : 'second')

const run = (m: Context, source: string, requests: Requests, options: PipelineOptions = {}) =>
  m.cold<string>(source).pipe(pipeline(requests.of, keyOf, { ...options, latest: true }))

describe('pipeline with `latest`', () => {
  it(
    'keeps only the newest item of a key that waits',
    marbles(m => {
      const requests = new Requests(m, { a: '-----(a|)', b: '', c: '', d: '--(d|)' })
      m.equal(run(m, ' abcd|', requests), '-----a-(d|)')
      requests.expect('a', '  ^----!')
      requests.expect('b')
      requests.expect('c')
      requests.expect('d', '  -----^-!')
    }),
  )

  it(
    'has one request of a key under way, however much room there is',
    marbles(m => {
      const requests = new Requests(m, { a: '--(a|)', b: '--(b|)', c: '--(c|)' })
      m.equal(run(m, ' ab-c|', requests, { concurrency: 64 }), '--a-b-(c|)')
      requests.expect('a', '  ^-!')
      requests.expect('b', '  --^-!')
      requests.expect('c', '  ----^-!')
    }),
  )

  it(
    'takes every item of a key that is idle',
    marbles(m => {
      const requests = new Requests(m, { a: '(a|)', b: '-(b|)', c: '(c|)' })
      m.equal(run(m, 'a-b-c|', requests), 'a--bc|')
    }),
  )

  it(
    'keeps keys apart: none waits for, or gives way to, another',
    marbles(m => {
      const requests = new Requests(m, { a: '------(a|)', b: '', c: '-----(c|)', x: '-(x|)', y: '-(y|)', z: '-(z|)' })
      m.equal(run(m, ' axybcz|', requests), '------(axy)(cz|)')
      requests.expect('a', '  ^-----!')
      requests.expect('x', '  -^!')
      requests.expect('y', '  --^!')
      requests.expect('z', '  -----^!')
      requests.expect('b')
      requests.expect('c', '  ------^----!')
    }),
  )

  it(
    'lets an item that waits for a free place give way, too',
    marbles(m => {
      const requests = new Requests(m, { a: '----(a|)', y: '', z: '-(z|)' })
      m.equal(run(m, ' ayz|', requests, { concurrency: 1 }), '----a(z|)')
      requests.expect('y')
    }),
  )

  it(
    'puts the result where the newer item is in the source',
    marbles(m => {
      const requests = new Requests(m, { a: '---(a|)', b: '', c: '----(c|)', z: '-(z|)' })
      m.equal(run(m, ' abzc|', requests), '---(az)(c|)')
      requests.expect('b')
      requests.expect('c', '  ---^---!')
    }),
  )

  it(
    'starts what waits after the end of the source, then completes',
    marbles(m => {
      const requests = new Requests(m, { a: '---(a|)', b: '--(b|)' })
      m.equal(run(m, ' ab|', requests), '---a-(b|)')
    }),
  )

  it(
    'frees a key whose request ended without a result',
    marbles(m => {
      const requests = new Requests(m, { a: '--|', b: '-(b|)' })
      m.equal(run(m, ' ab|', requests), '---(b|)')
    }),
  )

  it(
    'starts nothing that waits when it is unsubscribed from',
    marbles(m => {
      const requests = new Requests(m, { a: '---(a|)', b: '(b|)' })
      m.expect(run(m, ' ab|', requests), '^-!').toBeObservable('---')
      requests.expect('a', '             ^-!')
      requests.expect('b')
    }),
  )

  it(
    'ends with the error of a request, whatever waits',
    marbles(m => {
      const requests = new Requests(m, { a: '---#', b: '(b|)', z: '-' })
      m.equal(run(m, ' azb|', requests), '---#')
      requests.expect('z', '  -^-!')
      requests.expect('b')
    }),
  )

  it('takes all items without `latest`', () => {
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
