import { firstValueFrom, from, lastValueFrom, NEVER, Observable, of, Subject, switchMap, throwError } from 'rxjs'
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
  it('is sent on every subscription, also after it was awaited', async () => {
    const { request, sent } = counted(of(7))
    await request
    record(request)
    expect([record(request).values, sent()]).toEqual([[7], 3])
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
    expect([await firstValueFrom(request), sent()]).toEqual([1, 2])
    expect(request.pipe()).toBeInstanceOf(Observable)
  })

  it('errors with what making it throws', () => {
    const request = new StoreRequest(() => {
      throw new RangeError('no option')
    })
    expect(record(request).error).toBeInstanceOf(RangeError)
  })
})
