import { catchError, concat, NEVER, of, range } from 'rxjs'
import { type Context, marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { type PipelineOptions, pipeline } from '../../../../src/client/keys/operators/pipeline.js'
import { OverflowError } from '../../../../src/core/util/errors.js'
import { Requests } from '../../../support/operator-requests.js'

/** Items of the first half of the alphabet belong to one key, the others to a second. */
const keyOf = (item: string): string => (item < 'n' ? 'first' : 'second')

/** Errors as the result `o`, if they are what an overflow has to be. */
const overflowAs = catchError((error: unknown) => {
  expect(error).toBeInstanceOf(OverflowError)
  expect(error).toMatchObject({ code: 'overflow' })
  return of('o')
})

const run = (m: Context, source: string, requests: Requests, options: PipelineOptions) =>
  m.cold<string>(source).pipe(pipeline(requests.of, keyOf, options))

describe('pipeline: concurrency', () => {
  it(
    'has at most so many requests under way and starts the next one when one ends',
    marbles(m => {
      const requests = new Requests(m, { a: '-----(a|)', b: '-(b|)', c: '-------(c|)', d: '-(d|)' })
      const result = run(m, '  abcd|', requests, { concurrency: 2 })
      m.equal(result, '        -----(ab)(cd|)')
      requests.expect('a', '   ^----!')
      requests.expect('b', '   -^!')
      requests.expect('c', '   --^------!')
      requests.expect('d', '   -----^!')
    }),
  )

  it(
    'of 1 is one request after the other',
    marbles(m => {
      const requests = new Requests(m, { a: '---(a|)', b: '--(b|)', c: '-(c|)' })
      const result = run(m, '  (abc|)', requests, { concurrency: 1 })
      m.equal(result, '        ---a-b(c|)')
      requests.expect('a', '   ^--!')
      requests.expect('b', '   ---^-!')
      requests.expect('c', '   -----^!')
    }),
  )

  it(
    'gives a finished request its place back although its result has to wait',
    marbles(m => {
      const requests = new Requests(m, { a: '-', b: '-(b|)', c: '-(c|)', d: '-(d|)' })
      m.equal(run(m, '  abcd', requests, { concurrency: 2 }), '--------')
      requests.expect('b', '   -^!')
      requests.expect('c', '   --^!')
      requests.expect('d', '   ---^!')
    }),
  )

  it('is 64 unless told otherwise', () => {
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
  it(
    'starts the requests in the order of the source, whatever their key',
    marbles(m => {
      const requests = new Requests(m, { a: '--(a|)', z: '-(z|)', b: '-----(b|)', y: '-(y|)', c: '(c|)' })
      m.equal(run(m, '(azbyc|)', requests, { concurrency: 2 }), '--(az)(byc|)')
      m.flush()
      expect(requests.made).toEqual(['a', 'z', 'b', 'y', 'c'])
    }),
  )
})

describe('pipeline: buffer', () => {
  it(
    'fails with `overflow` when one item too many waits, and lets go of everything',
    marbles(m => {
      const requests = new Requests(m, { a: '------(a|)', b: '-', c: '-', d: '-' })
      const source = m.cold<string>('abcd--|')
      const result = source.pipe(pipeline(requests.of, keyOf, { concurrency: 1, buffer: 2 }), overflowAs)
      m.equal(result, '  ---(o|)')
      m.expect(source).toHaveSubscriptions('^--!')
      requests.expect('a', '         ^--!')
      requests.expect('b')
    }),
  )

  it(
    'may be full',
    marbles(m => {
      const requests = new Requests(m, { a: '----(a|)', b: '-(b|)', c: '-(c|)' })
      m.equal(run(m, '     abc|', requests, { concurrency: 1, buffer: 2 }).pipe(overflowAs), '----ab(c|)')
    }),
  )

  it(
    'has room again when a request has started',
    marbles(m => {
      const requests = new Requests(m, { a: '--(a|)', b: '--(b|)', c: '(c|)' })
      const result = run(m, ' ab-c|', requests, { concurrency: 1, buffer: 1 })
      m.equal(result.pipe(overflowAs), '--a-(bc|)')
    }),
  )

  it(
    'holds items that wait, not requests under way',
    marbles(m => {
      const requests = new Requests(m, { a: '---(a|)', b: '--(b|)', c: '-(c|)', d: '(d|)' })
      const result = run(m, '(abcd|)', requests, { concurrency: 3, buffer: 1 })
      m.equal(result.pipe(overflowAs), '---(abcd|)')
    }),
  )

  it(
    'does not count an item that gave way to a newer one, with `latest`',
    marbles(m => {
      const requests = new Requests(m, { a: '-----(a|)', d: '-(d|)' })
      const result = run(m, ' abcd|', requests, { latest: true, buffer: 1 })
      m.equal(result.pipe(overflowAs), '-----a(d|)')
    }),
  )

  it(
    'does not count an item that can start at once because its key is idle, with `latest`',
    marbles(m => {
      const requests = new Requests(m, { a: '----(a|)', b: '-(b|)', z: '-(z|)' })
      const result = run(m, ' abz|', requests, { latest: true, buffer: 1, concurrency: 2 })
      m.equal(result.pipe(overflowAs), '----a(bz|)')
      requests.expect('z', '  --^!')
    }),
  )

  it('is 65,536 unless told otherwise', () => {
    const failures: unknown[] = []
    const most = concat(range(0, 64 + 65_536), NEVER)
    most.pipe(pipeline(() => NEVER, String, {})).subscribe({ error: error => failures.push(error) })
    expect(failures).toEqual([])
    const tooMany = concat(range(0, 64 + 65_536 + 1), NEVER)
    tooMany.pipe(pipeline(() => NEVER, String, {})).subscribe({ error: error => failures.push(error) })
    expect(failures).toEqual([expect.objectContaining({ code: 'overflow' })])
  })
})
