import { of } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { pipeline } from '../../../../src/client/keys/operators/pipeline.js'
import { marbleTest } from '../../../support/marble-test.js'
import { Requests } from '../../../support/operator-requests.js'

const same = (item: string): string => item
const cold = (m: Context, diagram: string) => m.cold<string>(diagram)

describe('pipeline', () => {
  marbleTest('a pipeline does not complete before its source', m => {
    const source = cold(m, '-')
    m.equal(source.pipe(pipeline(of, same, {})), '-')
    m.expect(source).toHaveSubscriptions('^')
  })

  marbleTest('a pipeline completes with an empty source', m => {
    const source = cold(m, '--|')
    m.equal(source.pipe(pipeline(of, same, {})), '--|')
    m.expect(source).toHaveSubscriptions('^-!')
  })

  marbleTest('a pipeline sends one request for one item and completes with it', m => {
    const requests = new Requests(m, { a: '--a-|' })
    const source = cold(m, ' -a|')
    m.equal(source.pipe(pipeline(requests.of, same, {})), '-----(a|)')
    m.expect(source).toHaveSubscriptions('^-!')
    requests.expect('a', '                     -^---!')
  })

  marbleTest('a pipeline overlaps requests and emits each result once all earlier results are emitted', m => {
    const requests = new Requests(m, { a: '-----(a|)', b: '-(b|)', c: '---(c|)', d: '-(d|)' })
    const source = cold(m, ' abc-------d|')
    const expected = '       -----(abc)-(d|)'
    m.equal(source.pipe(pipeline(requests.of, same, {})), expected)
    requests.expect('a', '   ^----!')
    requests.expect('b', '   -^!')
    requests.expect('c', '   --^--!')
    requests.expect('d', '   ----------^!')
    m.expect(source).toHaveSubscriptions('^----------!')
  })

  marbleTest('a pipeline waits for pending results after the end of the source', m => {
    const requests = new Requests(m, { a: '------(a|)', b: '--(b|)' })
    const source = cold(m, ' ab|')
    m.equal(source.pipe(pipeline(requests.of, same, {})), '------(ab|)')
  })

  marbleTest('a pipeline stays open after its last result until the source completes', m => {
    const requests = new Requests(m, { a: '(a|)' })
    m.equal(cold(m, '-a---').pipe(pipeline(requests.of, same, {})), '-a---')
  })

  marbleTest('a pipeline emits only the last value of each request, when the request completes', m => {
    const requests = new Requests(m, { a: '-x-y-(a|)' })
    m.equal(cold(m, 'a|').pipe(pipeline(requests.of, same, {})), '-----(a|)')
  })

  marbleTest('a pipeline skips a request without a result', m => {
    const requests = new Requests(m, { a: '----|', b: '-(b|)', c: '--|' })
    m.equal(cold(m, ' abc|').pipe(pipeline(requests.of, same, {})), '----(b|)')
  })

  marbleTest('a pipeline holds back the results behind a request that does not end', m => {
    const requests = new Requests(m, { a: '(a|)', b: '-', c: '(c|)' })
    m.equal(cold(m, ' abc|').pipe(pipeline(requests.of, same, {})), 'a---')
  })

  marbleTest('a pipeline does nothing before it is subscribed, and runs again for every subscriber', m => {
    const requests = new Requests(m, { a: '--(a|)', b: '-(b|)' })
    const source = cold(m, ' ab|')
    const result = source.pipe(pipeline(requests.of, same, { concurrency: 1 }))
    m.expect(source).toHaveSubscriptions(['^-!', '-----^-!'])
    m.expect(result).toBeObservable('--a(b|)')
    m.expect(result, '            -----^').toBeObservable('-------a(b|)')
    requests.expect('a', '         ^-!', '-----^-!')
    requests.expect('b', '         --^!', '-------^!')
    expect(requests.made).toEqual([])
  })

  marbleTest('a pipeline keeps its two subscriptions independent', m => {
    const requests = new Requests(m, { a: '---(a|)', b: '-(b|)' })
    const source = cold(m, ' ab|')
    const result = source.pipe(pipeline(requests.of, same, { concurrency: 1 }))
    m.expect(result).toBeObservable('---a(b|)')
    m.expect(result, ' -^').toBeObservable('----a(b|)')
    requests.expect('a', '            ^--!', '-^--!')
    requests.expect('b', '            ---^!', '----^!')
  })
})

describe('a pipeline with errors', () => {
  marbleTest('a pipeline passes on an error of the source immediately and cancels requests in flight', m => {
    const requests = new Requests(m, { a: '------(a|)', b: '-(b|)' })
    const source = cold(m, ' ab-#')
    m.equal(source.pipe(pipeline(requests.of, same, {})), '---#')
    m.expect(source).toHaveSubscriptions('^--!')
    requests.expect('a', '   ^--!')
    requests.expect('b', '   -^!')
  })

  marbleTest('a pipeline passes on an error of a request immediately, before earlier results', m => {
    const requests = new Requests(m, { a: '------(a|)', b: '--#', c: '--(c|)' })
    const source = cold(m, ' abc----|')
    m.equal(source.pipe(pipeline(requests.of, same, {})), '---#')
    m.expect(source).toHaveSubscriptions('^--!')
    requests.expect('a', '   ^--!')
    requests.expect('b', '   -^-!')
    requests.expect('c', '   --^!')
  })

  marbleTest('a pipeline starts no queued item after a request has failed', m => {
    const requests = new Requests(m, { a: '---#', b: '-(b|)' })
    m.equal(cold(m, ' ab|').pipe(pipeline(requests.of, same, { concurrency: 1 })), '---#')
    requests.expect('b')
  })

  marbleTest('a pipeline emits the earlier results before it fails', m => {
    const requests = new Requests(m, { a: '-(a|)', b: '--#' })
    m.equal(cold(m, ' ab|').pipe(pipeline(requests.of, same, {})), '-a-#')
  })

  marbleTest('a pipeline errors when the request function throws', m => {
    const source = cold(m, ' -a-b')
    const refuse = (item: string) => {
      throw `no request for ${item}`
    }
    m.equal(source.pipe(pipeline(refuse, same, {})), '-#', undefined, 'no request for a')
    m.expect(source).toHaveSubscriptions('^!')
  })

  marbleTest('a pipeline with `latest` errors when the key function throws', m => {
    const requests = new Requests(m, { a: '------(a|)' })
    const source = cold(m, ' a-b')
    const keyOf = (item: string): string => {
      if (item === 'b') throw 'no key for b'
      return item
    }
    m.equal(source.pipe(pipeline(requests.of, keyOf, { latest: true })), '--#', undefined, 'no key for b')
    m.expect(source).toHaveSubscriptions('^-!')
    requests.expect('a', '   ^-!')
  })

  it('a pipeline without `latest` does not call the key function', () => {
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

describe('unsubscribing from a pipeline', () => {
  marbleTest('a pipeline cancels the source and all requests in flight, and starts no queued request', m => {
    const requests = new Requests(m, { a: '------(a|)', b: '------(b|)', c: '(c|)' })
    const source = cold(m, ' abc---|')
    const result = source.pipe(pipeline(requests.of, same, { concurrency: 2 }))
    m.expect(result, '       ^---!').toBeObservable('-----')
    m.expect(source).toHaveSubscriptions('^---!')
    requests.expect('a', '   ^---!')
    requests.expect('b', '   -^--!')
    requests.expect('c')
  })

  marbleTest('a pipeline cancels requests even after the source has completed', m => {
    const requests = new Requests(m, { a: '------(a|)' })
    const source = cold(m, ' a|')
    m.expect(source.pipe(pipeline(requests.of, same, {})), '^--!').toBeObservable('----')
    m.expect(source).toHaveSubscriptions('^!')
    requests.expect('a', '   ^--!')
  })

  marbleTest('a pipeline emits the results of an endless source until it is unsubscribed', m => {
    const source = m.hot<string>('a-a-a-a-a-a-a-a')
    const requests = new Requests(m, { a: '-(a|)' })
    const result = source.pipe(pipeline(requests.of, same, { concurrency: 1 }))
    m.expect(result, ' ^------!').toBeObservable('-a-a-a-')
    m.expect(source).toHaveSubscriptions('^------!')
    requests.expect('a', '^!', '--^!', '----^!', '------^!')
  })
})
