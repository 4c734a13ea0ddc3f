import {
  concat,
  EMPTY,
  EmptyError,
  exhaustMap,
  filter,
  firstValueFrom,
  from,
  lastValueFrom,
  map,
  NEVER,
  Observable,
  of,
  repeat,
  retry,
  Subject,
  switchMap,
  take,
  throwError,
  toArray,
} from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { describe, expect, it } from 'vitest'
import { Awaitable, NO_ITEM, StoreRequest } from '../../../src/core/util/awaitable.js'
import { StateStoreError } from '../../../src/core/util/errors.js'
import { marbleTest } from '../../support/marble-test.js'
import { record } from '../../support/open-client.js'

/** Creates a request that counts how often it is sent. */
function counted<T>(answers: Observable<T>): { readonly request: StoreRequest<T>; readonly sent: () => number } {
  let sent = 0
  const request = new StoreRequest(() => {
    sent++
    return answers
  })
  return { request, sent: () => sent }
}

describe('an awaited request', () => {
  it('awaiting sends the request and returns its result', async () => {
    const { request, sent } = counted(of(7))
    expect(sent()).toBe(0)
    expect(await request).toBe(7)
    expect(sent()).toBe(1)
  })

  it('awaiting several times sends the request once', async () => {
    const { request, sent } = counted(of(7))
    expect(await Promise.all([request, request, request.then(seven => seven + 1)])).toEqual([7, 7, 8])
    expect([await request, sent()]).toEqual([7, 1])
  })

  it('awaiting throws the error that the request emits', async () => {
    const error = new Error('refused')
    const { request } = counted(throwError(() => error))
    await expect(request).rejects.toBe(error)
    expect(await request.catch(reason => reason)).toBe(error)
  })

  it('awaiting throws the error that creating the request throws', async () => {
    const request = new StoreRequest(() => {
      throw new RangeError('no option')
    })
    await expect(request).rejects.toThrow(RangeError)
  })

  it('a request supports `finally` like a promise', async () => {
    let settled = 0
    await counted(of(1)).request.finally(() => settled++)
    await counted(throwError(() => 'no'))
      .request.finally(() => settled++)
      .catch(() => undefined)
    expect(settled).toBe(2)
  })

  it('an async function that returns a request sends the request', async () => {
    const { request, sent } = counted(of(7))
    const write = async () => request
    expect([await write(), sent()]).toEqual([7, 1])
  })

  it('`for await` over a request throws', async () => {
    const { request, sent } = counted(of(7))
    const loop = async () => {
      // @ts-expect-error a request is not iterable
      for await (const _ of request) break
    }
    await expect(loop()).rejects.toThrow(TypeError)
    expect(sent()).toBe(0)
  })
})

describe('a subscribed request', () => {
  it('an await after a subscription does not send again, but a later subscription does', async () => {
    const { request, sent } = counted(of(7))
    const first = record(request)
    expect([await request, first.values, first.completed, sent()]).toEqual([7, [7], true, 1])
    expect([record(request).values, sent()]).toEqual([[7], 2])
  })

  it('a subscriber that unsubscribes on the result has ended the request', () => {
    const { request, sent } = counted(of(7))
    record(request.pipe(take(1)))
    expect([record(request).values, sent()]).toEqual([[7], 2])
  })

  it('a subscriber that resubscribes within the result sends again', () => {
    const { request, sent } = counted(of(7))
    const values: number[] = []
    request.subscribe(value => sent() < 2 && request.subscribe(again => values.push(value, again)))
    expect([values, sent()]).toEqual([[7, 7], 2])
  })

  it('unsubscribing does not cancel a request that is awaited', async () => {
    const answers = new Subject<number>()
    const { request, sent } = counted(answers)
    const awaited = request.then(seven => seven + 1)
    request.subscribe().unsubscribe()
    answers.next(7)
    answers.complete()
    expect([await awaited, sent()]).toEqual([8, 1])
  })

  it('after a failed await, only a subscription sends the request again', async () => {
    const { request, sent } = counted(throwError(() => 'refused'))
    expect([await request.catch(String), await request.catch(String), sent()]).toEqual(['refused', 'refused', 1])
    expect([record(request).error, sent()]).toEqual(['refused', 2])
  })

  it('a request whose source completes without a result completes', () => {
    const { request } = counted(EMPTY)
    expect(record(request)).toMatchObject({ values: [], completed: true })
  })

  it('unsubscribing cancels the request', () => {
    const answers = new Subject<number>()
    const subscription = counted(answers).request.subscribe()
    expect(answers.observed).toBe(true)
    subscription.unsubscribe()
    expect(answers.observed).toBe(false)
  })

  it('a read sends nothing before it is subscribed', () => {
    const { request, sent } = counted(NEVER)
    request.pipe(switchMap(() => of(1)))
    expect(sent()).toBe(0)
  })

  it('RxJS treats a request as an observable, not as a promise', async () => {
    const { request, sent } = counted(of(1, 2))
    expect(from(request)).toBe(request)
    expect(await lastValueFrom(of('go').pipe(switchMap(() => request)))).toBe(2)
    expect([await firstValueFrom(request), sent()]).toEqual([2, 2])
    expect(request.pipe()).toBeInstanceOf(Observable)
  })

  it('a subscription emits the error that creating the request throws', () => {
    const request = new StoreRequest(() => {
      throw new RangeError('no option')
    })
    expect(record(request).error).toBeInstanceOf(RangeError)
  })
})

describe('a request on virtual time', () => {
  /** Creates a request whose nth attempt is answered by the nth diagram. */
  const open = (m: Context, ...answers: string[]) => {
    const attempts = answers.map(diagram => m.cold<string>(diagram))
    let sent = 0
    return { attempts, request: new StoreRequest(() => attempts[sent++] ?? NEVER), sent: () => sent }
  }

  marbleTest('two subscribers share one request and its result', m => {
    const { attempts, request, sent } = open(m, '----(a|)')
    m.expect(request).toBeObservable('----(a|)')
    m.expect(request, '--^').toBeObservable('----(a|)')
    m.flush()
    for (const attempt of attempts) m.expect(attempt).toHaveSubscriptions('^---!')
    expect(sent()).toBe(1)
  })

  marbleTest('the last subscriber that leaves cancels the request, and the next subscriber sends it again', m => {
    const { attempts, request } = open(m, '------(a|)', '--(b|)')
    m.expect(request, '^-!').toBeObservable('---')
    m.expect(request, '-^--!').toBeObservable('-----')
    m.expect(request, '-----^').toBeObservable('-------(b|)')
    m.flush()
    for (const attempt of attempts.slice(0, 1)) m.expect(attempt).toHaveSubscriptions('^---!')
  })

  marbleTest('`retry` sends a failed request once more for all its subscribers', m => {
    const { request, sent } = open(m, '--#', '--#', '--(c|)')
    const patient$ = request.pipe(retry({ count: 2, delay: () => m.cold('-(t|)') }))
    m.expect(patient$).toBeObservable('--------(c|)')
    m.expect(patient$).toBeObservable('--------(c|)')
    m.flush()
    expect(sent()).toBe(3)
  })

  marbleTest('`retry` without a delay sends the request again within the error', m => {
    const { request, sent } = open(m, '#', '--#', '--(c|)')
    m.expect(request.pipe(retry(2))).toBeObservable('----(c|)')
    m.flush()
    expect(sent()).toBe(3)
  })

  marbleTest('`repeat` sends the request again, and so does each click on a held request', m => {
    const { request, sent } = open(m, '--(a|)', '--(b|)', '--(c|)')
    m.expect(request.pipe(repeat(2))).toBeObservable('--a-(b|)')
    m.expect(m.hot('-------x').pipe(exhaustMap(() => request))).toBeObservable('---------c')
    m.flush()
    expect(sent()).toBe(3)
  })
})

describe('a write', () => {
  /** Creates a write whose nth attempt is answered by the nth diagram. */
  const write = (m: Context, ...answers: string[]) => {
    const reported: unknown[] = []
    let sent = 0
    const request = new StoreRequest(
      () => m.cold<string>(answers[sent++] ?? '-', undefined, new StateStoreError('timeout', 'late')),
      error => reported.push(error.code),
    )
    return { request, sent: () => sent, reported }
  }
  const microtasks = async (): Promise<void> => {
    for (let i = 0; i < 9; i++) await undefined
  }

  marbleTest('the call sends, and the first subscriber gets the result even after its arrival', m => {
    const { request, sent } = write(m, '--(a|)', '--(b|)')
    expect(sent()).toBe(1)
    m.expect(request, '-----^').toBeObservable('-----(a|)')
    m.expect(request, '------^').toBeObservable('--------(b|)')
    m.flush()
    expect(sent()).toBe(2)
  })

  marbleTest('writes in `concat` are sent at once and emit their results in order, each once', m => {
    const [slow, fast] = [write(m, '----(a|)'), write(m, '--(b|)')]
    m.expect(concat(slow.request, fast.request)).toBeObservable('----(ab|)')
    m.flush()
    expect([slow.sent(), fast.sent()]).toEqual([1, 1])
  })

  marbleTest('`retry` counts the write of the call', m => {
    const { request, sent } = write(m, '#', '--#', '--(c|)')
    m.expect(request.pipe(retry(2)), '-^').toBeObservable('-----(c|)')
    m.flush()
    expect(sent()).toBe(3)
  })

  marbleTest('a subscriber that leaves before the result cancels the write of the call', m => {
    const { request, sent } = write(m, '------(a|)', '--(b|)')
    m.expect(request, '^--!').toBeObservable('----')
    m.expect(request, '----^').toBeObservable('------(b|)')
    m.flush()
    expect(sent()).toBe(2)
  })

  it('the error of a write that nothing observes is reported', async () => {
    const reported: string[] = []
    void new StoreRequest(
      () => throwError(() => new StateStoreError('timeout', 'late')),
      ({ code }) => reported.push(code),
    )
    await microtasks()
    expect(reported).toEqual(['timeout'])
  })

  it.each([
    ['awaited', async (request: StoreRequest<number>) => await request.catch(String)],
    ['piped and awaited', async (request: StoreRequest<number>) => await request.pipe(retry(1)).catch(String)],
    ['returned', (request: StoreRequest<number>) => (async () => request)().catch(String)],
    ['one of several', (request: StoreRequest<number>) => Promise.all([request]).catch(String)],
    ['subscribed', async (request: StoreRequest<number>) => void request.subscribe({ error: String })],
  ])('the error of a write that is %s is not reported', async (_, observe) => {
    const reported: string[] = []
    const request = new StoreRequest<number>(
      () => throwError(() => new StateStoreError('timeout', 'late')),
      ({ code }) => reported.push(code),
    )
    await observe(request)
    await microtasks()
    expect(reported).toEqual([])
  })
})

describe('an awaitable', () => {
  it('`pipe` returns an awaitable, which settles with the last value', async () => {
    const { request, sent } = counted(of(7))
    expect(await request.pipe(map(seven => seven + 1))).toBe(8)
    expect(await request.pipe(repeat(2), toArray())).toEqual([7, 7])
    expect([await request.pipe(), sent()]).toEqual([7, 4])
  })

  it('a pipe that ends in a function returns its result', () => {
    expect(
      counted(of(7)).request.pipe(
        () => of(1),
        source => source,
      ),
    ).toBeInstanceOf(Awaitable)
  })

  it('a pipe that filters the result rejects an await', async () => {
    await expect(counted(of(7)).request.pipe(filter(() => false))).rejects.toThrow(EmptyError)
  })

  it('resolves with a given default when there is no value', async () => {
    expect(await new Awaitable(subscriber => subscriber.complete(), NO_ITEM)).toBe(undefined)
  })
})
