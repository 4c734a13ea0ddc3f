import { of } from 'rxjs'
import { type Context, marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { pipeline } from '../../../../src/client/keys/operators/pipeline.js'
import { Requests } from '../../../support/operator-requests.js'

const same = (item: string): string => item
const cold = (m: Context, diagram: string) => m.cold<string>(diagram)

describe('pipeline', () => {
  it(
    'never ends while its source does not',
    marbles(m => {
      const source = cold(m, '-')
      m.equal(source.pipe(pipeline(of, same, {})), '-')
      m.expect(source).toHaveSubscriptions('^')
    }),
  )

  it(
    'completes with an empty source',
    marbles(m => {
      const source = cold(m, '--|')
      m.equal(source.pipe(pipeline(of, same, {})), '--|')
      m.expect(source).toHaveSubscriptions('^-!')
    }),
  )

  it(
    'makes one request of one item and completes when it does',
    marbles(m => {
      const requests = new Requests(m, { a: '--a-|' })
      const source = cold(m, ' -a|')
      m.equal(source.pipe(pipeline(requests.of, same, {})), '-----(a|)')
      m.expect(source).toHaveSubscriptions('^-!')
      requests.expect('a', '                     -^---!')
    }),
  )

  it(
    'lets requests overlap and emits each result as soon as all earlier ones are there',
    marbles(m => {
      const requests = new Requests(m, { a: '-----(a|)', b: '-(b|)', c: '---(c|)', d: '-(d|)' })
      const source = cold(m, ' abc-------d|')
      const expected = '       -----(abc)-(d|)'
      m.equal(source.pipe(pipeline(requests.of, same, {})), expected)
      requests.expect('a', '   ^----!')
      requests.expect('b', '   -^!')
      requests.expect('c', '   --^--!')
      requests.expect('d', '   ----------^!')
      m.expect(source).toHaveSubscriptions('^----------!')
    }),
  )

  it(
    'waits after the end of the source for the results that are due',
    marbles(m => {
      const requests = new Requests(m, { a: '------(a|)', b: '--(b|)' })
      const source = cold(m, ' ab|')
      m.equal(source.pipe(pipeline(requests.of, same, {})), '------(ab|)')
    }),
  )

  it(
    'stays open after its last result while the source does',
    marbles(m => {
      const requests = new Requests(m, { a: '(a|)' })
      m.equal(cold(m, '-a---').pipe(pipeline(requests.of, same, {})), '-a---')
    }),
  )

  it(
    'counts only the last result of a request, when it completes',
    marbles(m => {
      const requests = new Requests(m, { a: '-x-y-(a|)' })
      m.equal(cold(m, 'a|').pipe(pipeline(requests.of, same, {})), '-----(a|)')
    }),
  )

  it(
    'passes over a request without a result',
    marbles(m => {
      const requests = new Requests(m, { a: '----|', b: '-(b|)', c: '--|' })
      m.equal(cold(m, ' abc|').pipe(pipeline(requests.of, same, {})), '----(b|)')
    }),
  )

  it(
    'lets a request that does not end hold back the results behind it',
    marbles(m => {
      const requests = new Requests(m, { a: '(a|)', b: '-', c: '(c|)' })
      m.equal(cold(m, ' abc|').pipe(pipeline(requests.of, same, {})), 'a---')
    }),
  )

  it(
    'does nothing until it is subscribed to, and starts afresh for every subscriber',
    marbles(m => {
      const requests = new Requests(m, { a: '--(a|)', b: '-(b|)' })
      const source = cold(m, ' ab|')
      const result = source.pipe(pipeline(requests.of, same, { concurrency: 1 }))
      m.expect(source).toHaveSubscriptions(['^-!', '-----^-!'])
      m.expect(result).toBeObservable('--a(b|)')
      m.expect(result, '            -----^').toBeObservable('-------a(b|)')
      requests.expect('a', '         ^-!', '-----^-!')
      requests.expect('b', '         --^!', '-------^!')
      expect(requests.made).toEqual([])
    }),
  )

  it(
    'keeps two subscriptions apart that run at the same time',
    marbles(m => {
      const requests = new Requests(m, { a: '---(a|)', b: '-(b|)' })
      const source = cold(m, ' ab|')
      const result = source.pipe(pipeline(requests.of, same, { concurrency: 1 }))
      m.expect(result).toBeObservable('---a(b|)')
      m.expect(result, ' -^').toBeObservable('----a(b|)')
      requests.expect('a', '            ^--!', '-^--!')
      requests.expect('b', '            ---^!', '----^!')
    }),
  )
})

describe('pipeline, when something fails', () => {
  it(
    'passes an error of the source at once and lets go of the requests under way',
    marbles(m => {
      const requests = new Requests(m, { a: '------(a|)', b: '-(b|)' })
      const source = cold(m, ' ab-#')
      m.equal(source.pipe(pipeline(requests.of, same, {})), '---#')
      m.expect(source).toHaveSubscriptions('^--!')
      requests.expect('a', '   ^--!')
      requests.expect('b', '   -^!')
    }),
  )

  it(
    'passes an error of a request at once, even if earlier ones have no result yet',
    marbles(m => {
      const requests = new Requests(m, { a: '------(a|)', b: '--#', c: '--(c|)' })
      const source = cold(m, ' abc----|')
      m.equal(source.pipe(pipeline(requests.of, same, {})), '---#')
      m.expect(source).toHaveSubscriptions('^--!')
      requests.expect('a', '   ^--!')
      requests.expect('b', '   -^-!')
      requests.expect('c', '   --^!')
    }),
  )

  it(
    'starts nothing that still waits when a request fails',
    marbles(m => {
      const requests = new Requests(m, { a: '---#', b: '-(b|)' })
      m.equal(cold(m, ' ab|').pipe(pipeline(requests.of, same, { concurrency: 1 })), '---#')
      requests.expect('b')
    }),
  )

  it(
    'emits the results that came before a failure',
    marbles(m => {
      const requests = new Requests(m, { a: '-(a|)', b: '--#' })
      m.equal(cold(m, ' ab|').pipe(pipeline(requests.of, same, {})), '-a-#')
    }),
  )

  it(
    'makes an error of what the function for requests throws',
    marbles(m => {
      const source = cold(m, ' -a-b')
      const refuse = (item: string) => {
        throw `no request for ${item}`
      }
      m.equal(source.pipe(pipeline(refuse, same, {})), '-#', undefined, 'no request for a')
      m.expect(source).toHaveSubscriptions('^!')
    }),
  )

  it(
    'makes an error of what the function for keys throws, with `latest`',
    marbles(m => {
      const requests = new Requests(m, { a: '------(a|)' })
      const source = cold(m, ' a-b')
      const keyOf = (item: string): string => {
        if (item === 'b') throw 'no key for b'
        return item
      }
      m.equal(source.pipe(pipeline(requests.of, keyOf, { latest: true })), '--#', undefined, 'no key for b')
      m.expect(source).toHaveSubscriptions('^-!')
      requests.expect('a', '   ^-!')
    }),
  )

  it('does not ask for keys without `latest`', () => {
    const results: string[] = []
    const keyOf = (): string => {
      throw new Error('asked for a key')
    }
    of('a')
      .pipe(pipeline(of, keyOf, {}))
      .subscribe(result => results.push(result))
    expect(results).toEqual(['a'])
  })
})

describe('pipeline, when it is unsubscribed from', () => {
  it(
    'lets go of its source and of all requests under way, and starts none that wait',
    marbles(m => {
      const requests = new Requests(m, { a: '------(a|)', b: '------(b|)', c: '(c|)' })
      const source = cold(m, ' abc---|')
      const result = source.pipe(pipeline(requests.of, same, { concurrency: 2 }))
      m.expect(result, '       ^---!').toBeObservable('-----')
      m.expect(source).toHaveSubscriptions('^---!')
      requests.expect('a', '   ^---!')
      requests.expect('b', '   -^--!')
      requests.expect('c')
    }),
  )

  it(
    'lets go of requests after the source has completed, too',
    marbles(m => {
      const requests = new Requests(m, { a: '------(a|)' })
      const source = cold(m, ' a|')
      m.expect(source.pipe(pipeline(requests.of, same, {})), '^--!').toBeObservable('----')
      m.expect(source).toHaveSubscriptions('^!')
      requests.expect('a', '   ^--!')
    }),
  )

  it(
    'follows an endless source for as long as somebody listens',
    marbles(m => {
      const source = m.hot<string>('a-a-a-a-a-a-a-a')
      const requests = new Requests(m, { a: '-(a|)' })
      const result = source.pipe(pipeline(requests.of, same, { concurrency: 1 }))
      m.expect(result, ' ^------!').toBeObservable('-a-a-a-')
      m.expect(source).toHaveSubscriptions('^------!')
      requests.expect('a', '^!', '--^!', '----^!', '------^!')
    }),
  )
})
