import { catchError, concat, NEVER, of, range } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { type PipelineOptions, pipeline } from '../../../../src/client/keys/operators/pipeline.js'
import { OverflowError } from '../../../../src/core/util/errors.js'
import { marbleTest } from '../../../support/marble-test.js'
import { Requests } from '../../../support/operator-requests.js'

/** Maps items of the first half of the alphabet to one key and all others to a second key. */
const keyOf = (item: string): string => (item < 'n' ? 'first' : 'second')

/** Emits the result `o` in place of the expected overflow error. */
const overflowAs = catchError((error: unknown) => {
  expect(error).toBeInstanceOf(OverflowError)
  expect(error).toMatchObject({ code: 'overflow' })
  return of('o')
})

const run = (m: Context, source: string, requests: Requests, options: PipelineOptions) =>
  m.cold<string>(source).pipe(pipeline(requests.of, keyOf, options))

describe('pipeline: concurrency', () => {
  marbleTest('at most `concurrency` requests are in flight, and the next request starts when another ends', m => {
    const requests = new Requests(m, { a: '-----(a|)', b: '-(b|)', c: '-------(c|)', d: '-(d|)' })
    const result = run(m, '  abcd|', requests, { concurrency: 2 })
    m.equal(result, '        -----(ab)(cd|)')
    requests.expect('a', '   ^----!')
    requests.expect('b', '   -^!')
    requests.expect('c', '   --^------!')
    requests.expect('d', '   -----^!')
  })

  marbleTest('a concurrency of 1 sends one request at a time', m => {
    const requests = new Requests(m, { a: '---(a|)', b: '--(b|)', c: '-(c|)' })
    const result = run(m, '  (abc|)', requests, { concurrency: 1 })
    m.equal(result, '        ---a-b(c|)')
    requests.expect('a', '   ^--!')
    requests.expect('b', '   ---^-!')
    requests.expect('c', '   -----^!')
  })

  marbleTest('a finished request frees its slot even if its result must wait for earlier results', m => {
    const requests = new Requests(m, { a: '-', b: '-(b|)', c: '-(c|)', d: '-(d|)' })
    m.equal(run(m, '  abcd', requests, { concurrency: 2 }), '--------')
    requests.expect('b', '   -^!')
    requests.expect('c', '   --^!')
    requests.expect('d', '   ---^!')
  })

  it('the default concurrency is 64', () => {
    let started = 0
    const never = () => {
      started++
      return NEVER
    }
    range(0, 100)
      .pipe(pipeline(never, String, {}))
      .subscribe()
    expect(started).toBe(64)
  })
})

describe('pipeline: order', () => {
  marbleTest('requests start in source order, regardless of their keys', m => {
    const requests = new Requests(m, { a: '--(a|)', z: '-(z|)', b: '-----(b|)', y: '-(y|)', c: '(c|)' })
    m.equal(run(m, '(azbyc|)', requests, { concurrency: 2 }), '--(az)(byc|)')
    m.flush()
    expect(requests.made).toEqual(['a', 'z', 'b', 'y', 'c'])
  })
})

describe('pipeline: buffer', () => {
  marbleTest('one item more than `buffer` fails with `overflow` and cancels everything', m => {
    const requests = new Requests(m, { a: '------(a|)', b: '-', c: '-', d: '-' })
    const source = m.cold<string>('abcd--|')
    const result = source.pipe(pipeline(requests.of, keyOf, { concurrency: 1, buffer: 2 }), overflowAs)
    m.equal(result, '  ---(o|)')
    m.expect(source).toHaveSubscriptions('^--!')
    requests.expect('a', '         ^--!')
    requests.expect('b')
  })

  marbleTest('a buffer that is exactly full does not fail', m => {
    const requests = new Requests(m, { a: '----(a|)', b: '-(b|)', c: '-(c|)' })
    m.equal(run(m, '     abc|', requests, { concurrency: 1, buffer: 2 }).pipe(overflowAs), '----ab(c|)')
  })

  marbleTest('starting a request frees its place in the buffer', m => {
    const requests = new Requests(m, { a: '--(a|)', b: '--(b|)', c: '(c|)' })
    const result = run(m, ' ab-c|', requests, { concurrency: 1, buffer: 1 })
    m.equal(result.pipe(overflowAs), '--a-(bc|)')
  })

  marbleTest('requests in flight do not count against the buffer', m => {
    const requests = new Requests(m, { a: '---(a|)', b: '--(b|)', c: '-(c|)', d: '(d|)' })
    const result = run(m, '(abcd|)', requests, { concurrency: 3, buffer: 1 })
    m.equal(result.pipe(overflowAs), '---(abcd|)')
  })

  marbleTest('with `latest`, an item that a newer item replaces does not count against the buffer', m => {
    const requests = new Requests(m, { a: '-----(a|)', d: '-(d|)' })
    const result = run(m, ' abcd|', requests, { latest: true, buffer: 1 })
    m.equal(result.pipe(overflowAs), '-----a(d|)')
  })

  marbleTest(
    'with `latest`, an item that starts immediately because its key is idle does not count against the buffer',
    m => {
      const requests = new Requests(m, { a: '----(a|)', b: '-(b|)', z: '-(z|)' })
      const result = run(m, ' abz|', requests, { latest: true, buffer: 1, concurrency: 2 })
      m.equal(result.pipe(overflowAs), '----a(bz|)')
      requests.expect('z', '  --^!')
    },
  )

  it('the default buffer is 65,536 items', () => {
    const failures: unknown[] = []
    const most = concat(range(0, 64 + 65_536), NEVER)
    most.pipe(pipeline(() => NEVER, String, {})).subscribe({ error: error => failures.push(error) })
    expect(failures).toEqual([])
    const tooMany = concat(range(0, 64 + 65_536 + 1), NEVER)
    tooMany.pipe(pipeline(() => NEVER, String, {})).subscribe({ error: error => failures.push(error) })
    expect(failures).toEqual([expect.objectContaining({ code: 'overflow' })])
  })
})
