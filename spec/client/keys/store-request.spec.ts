import {
  defer,
  EMPTY,
  firstValueFrom,
  from,
  lastValueFrom,
  NEVER,
  Observable,
  of,
  repeat,
  retry,
  Subject,
  switchMap,
  take,
  throwError,
} from 'rxjs'
import { type Context, marbles } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { StoreRequest } from '../../../src/core/util/awaitable.js'
import { record } from '../../support/open-client.js'

/** A request that counts how often it is sent. */
function counted<T>(answers: Observable<T>): { readonly request: StoreRequest<T>; readonly sent: () => number } {
  let sent = 0
  const request = new StoreRequest(() => {
    sent++
    return answers
  })
  return { request, sent: () => sent }
}

describe('A request that is awaited', () => {
  it('is sent, and gives its result', async () => {
    const { request, sent } = counted(of(7))
    expect(sent()).toBe(0)
    expect(await request).toBe(7)
    expect(sent()).toBe(1)
  })

  it('is sent once, however often it is awaited', async () => {
    const { request, sent } = counted(of(7))
    expect(await Promise.all([request, request, request.then(seven => seven + 1)])).toEqual([7, 7, 8])
    expect([await request, sent()]).toEqual([7, 1])
  })

  it('throws its error', async () => {
    const error = new Error('refused')
    const { request } = counted(throwError(() => error))
    await expect(request).rejects.toBe(error)
    expect(await request.catch(reason => reason)).toBe(error)
  })

  it('throws what making it throws', async () => {
    const request = new StoreRequest(() => {
      throw new RangeError('no option')
    })
    await expect(request).rejects.toThrow(RangeError)
  })

  it('is a promise as far as `finally` is concerned', async () => {
    let settled = 0
    await counted(of(1)).request.finally(() => settled++)
    await counted(throwError(() => 'no'))
      .request.finally(() => settled++)
      .catch(() => undefined)
    expect(settled).toBe(2)
  })

  it('is sent by an async function that returns it', async () => {
    const { request, sent } = counted(of(7))
    const write = async () => request
    expect([await write(), sent()]).toEqual([7, 1])
  })

  it('is refused by `for await`, which needs what goes on', async () => {
    const { request, sent } = counted(of(7))
    const loop = async () => {
      // @ts-expect-error there is nothing to iterate over
      for await (const _ of request) break
    }
    await expect(loop()).rejects.toThrow(TypeError)
    expect(sent()).toBe(0)
  })
})

describe('A request that is subscribed', () => {
  it('is sent once, and gives later subscribers and awaits its result', async () => {
    const { request, sent } = counted(of(7))
    const first = record(request)
    expect([await request, record(request).values, first.values, sent()]).toEqual([7, [7], [7], 1])
    expect(first.completed).toBe(true)
  })

  it('is sent once for a subscriber that leaves with the result', () => {
    const { request, sent } = counted(of(7))
    record(request.pipe(take(1)))
    expect([record(request).values, sent()]).toEqual([[7], 1])
  })

  it('is sent once when a subscriber subscribes again within its result', () => {
    const { request, sent } = counted(of(7))
    const values: number[] = []
    request.subscribe(value => request.subscribe(again => values.push(value, again)))
    expect([values, sent()]).toEqual([[7, 7], 1])
  })

  it('is not given up by a subscriber while it is awaited', async () => {
    const answers = new Subject<number>()
    const { request, sent } = counted(answers)
    const awaited = request.then(seven => seven + 1)
    request.subscribe().unsubscribe()
    answers.next(7)
    answers.complete()
    expect([await awaited, sent()]).toEqual([8, 1])
  })

  it('is not sent again by an await after an await that failed, and by a subscription is', async () => {
    const { request, sent } = counted(throwError(() => 'refused'))
    expect([await request.catch(String), await request.catch(String), sent()]).toEqual(['refused', 'refused', 1])
    expect([record(request).error, sent()]).toEqual(['refused', 2])
  })

  it('completes without a result when its source does, for later subscribers too', () => {
    const { request, sent } = counted(EMPTY)
    record(request)
    expect([record(request), sent()]).toEqual([expect.objectContaining({ values: [], completed: true }), 1])
  })

  it('is given up by unsubscribing', () => {
    const answers = new Subject<number>()
    const subscription = counted(answers).request.subscribe()
    expect(answers.observed).toBe(true)
    subscription.unsubscribe()
    expect(answers.observed).toBe(false)
  })

  it('does nothing before', () => {
    const { request, sent } = counted(NEVER)
    request.pipe(switchMap(() => of(1)))
    expect(sent()).toBe(0)
  })

  it('is taken by RxJS for the observable it is, not for a promise', async () => {
    const { request, sent } = counted(of(1, 2))
    expect(from(request)).toBe(request)
    expect(await lastValueFrom(of('go').pipe(switchMap(() => request)))).toBe(2)
    expect([await firstValueFrom(request), sent()]).toEqual([2, 1])
    expect(request.pipe()).toBeInstanceOf(Observable)
  })

  it('errors with what making it throws', () => {
    const request = new StoreRequest(() => {
      throw new RangeError('no option')
    })
    expect(record(request).error).toBeInstanceOf(RangeError)
  })
})

describe('A request on virtual time', () => {
  /** A request whose nth attempt is answered by the nth diagram. */
  const open = (m: Context, ...answers: string[]) => {
    const attempts = answers.map(diagram => m.cold<string>(diagram))
    let sent = 0
    return { attempts, request: new StoreRequest(() => attempts[sent++] ?? NEVER), sent: () => sent }
  }

  it(
    'is sent once for two subscribers, who get its result together',
    marbles(m => {
      const { attempts, request, sent } = open(m, '----(a|)')
      m.expect(request).toBeObservable('----(a|)')
      m.expect(request, '--^').toBeObservable('----(a|)')
      m.expect(request, '------^').toBeObservable('------(a|)')
      m.flush()
      for (const attempt of attempts) m.expect(attempt).toHaveSubscriptions('^---!')
      expect(sent()).toBe(1)
    }),
  )

  it(
    'is given up when the last subscriber leaves, and sent again by the next',
    marbles(m => {
      const { attempts, request } = open(m, '------(a|)', '--(b|)')
      m.expect(request, '^-!').toBeObservable('---')
      m.expect(request, '-^--!').toBeObservable('-----')
      m.expect(request, '-----^').toBeObservable('-------(b|)')
      m.flush()
      for (const attempt of attempts.slice(0, 1)) m.expect(attempt).toHaveSubscriptions('^---!')
    }),
  )

  it(
    'is sent again by `retry` for all its subscribers, and once',
    marbles(m => {
      const { request, sent } = open(m, '--#', '--#', '--(c|)')
      const patient$ = request.pipe(retry({ count: 2, delay: () => m.cold('-(t|)') }))
      m.expect(patient$).toBeObservable('--------(c|)')
      m.expect(patient$).toBeObservable('--------(c|)')
      m.flush()
      expect(sent()).toBe(3)
    }),
  )

  it(
    'is sent again by a `retry` without a delay, within its error',
    marbles(m => {
      const { request, sent } = open(m, '#', '--#', '--(c|)')
      m.expect(request.pipe(retry(2))).toBeObservable('----(c|)')
      m.flush()
      expect(sent()).toBe(3)
    }),
  )

  it(
    'is not sent again by `repeat`, which a new one in `defer` is',
    marbles(m => {
      const { attempts, request, sent } = open(m, '--(a|)')
      m.expect(request.pipe(repeat(2))).toBeObservable('--(aa|)')
      const reads$ = defer(() => new StoreRequest(() => m.cold('--(b|)')))
      m.expect(reads$.pipe(repeat(2))).toBeObservable('--b-(b|)')
      m.flush()
      expect([attempts.length, sent()]).toEqual([1, 1])
    }),
  )
})
