import { assert, asyncProperty, boolean, array as listOf } from 'fast-check'
import { concat, EMPTY, NEVER, Observable, of, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { LatestIterator } from '../../../src/client/keys/latest.js'
import { AbortError } from '../../../src/core/util/errors.js'

const value = (of: unknown) => ({ done: false, value: of })
const DONE = { done: true, value: undefined }

/** Collects the values of a loop that awaits `each` for every value. */
async function loop<T>(
  source: Observable<T>,
  body: (value: T) => void | Promise<void> = () => undefined,
): Promise<T[]> {
  const seen: T[] = []
  for await (const value of new LatestIterator(source)) {
    seen.push(value)
    await body(value)
  }
  return seen
}

describe('LatestIterator', () => {
  it('the source is subscribed at the first `next`', async () => {
    let subscribed = 0
    const source = new Observable<number>(subscriber => {
      subscribed++
      subscriber.next(subscribed)
    })
    const latest = new LatestIterator(source)
    expect(subscribed).toBe(0)
    expect(await latest.next()).toEqual(value(1))
    void latest.next()
    expect(subscribed).toBe(1)
  })

  it('a fast loop receives every value', async () => {
    const states = new Subject<number>()
    const latest = new LatestIterator(states)
    for (const state of [1, 2, 3]) {
      const next = latest.next()
      states.next(state)
      expect(await next).toEqual(value(state))
    }
  })

  it('a busy loop receives the newest value next, and then waits', async () => {
    const states = new Subject<number>()
    const latest = new LatestIterator(states)
    const first = latest.next()
    for (const state of [1, 2, 3]) states.next(state)
    expect([await first, await latest.next()]).toEqual([value(1), value(3)])
    const third = latest.next()
    states.next(4)
    expect(await third).toEqual(value(4))
  })

  it.each([
    ['ends', EMPTY, undefined],
    ['fails', throwError(() => new RangeError('gone')), new RangeError('gone')],
  ])('a loop receives the last value before the stream %s', async (_, end, error) => {
    const seen: number[] = []
    const run = async (): Promise<void> => {
      for await (const state of new LatestIterator(concat(of(1, 2, 3), end))) seen.push(state)
    }
    await (error ? expect(run()).rejects.toEqual(error) : run())
    expect(seen).toEqual([1, 3])
  })

  it('an error rejects once, then the iterator is done', async () => {
    const latest = new LatestIterator(throwError(() => 'gone'))
    await expect(latest.next()).rejects.toBe('gone')
    expect(await latest.next()).toEqual(DONE)
  })

  it('an aborted loop receives no further value', async () => {
    const states = new Subject<number>()
    const latest = new LatestIterator(states)
    const first = latest.next()
    states.next(1)
    states.next(2)
    states.error(new AbortError('enough'))
    expect(await first).toEqual(value(1))
    await expect(latest.next()).rejects.toMatchObject({ code: 'aborted' })
  })

  it.each([
    ['exits early', () => false],
    [
      'throws',
      () => {
        throw new Error('body')
      },
    ],
  ])('the source is unsubscribed when the loop %s', async (_, goOn) => {
    const states = new Subject<number>()
    const source = concat(of(1), states)
    const run = async (): Promise<void> => {
      for await (const _ of new LatestIterator(source)) {
        expect(states.observed).toBe(true)
        if (!goOn()) break
      }
    }
    await run().catch(error => expect(error.message).toBe('body'))
    expect(states.observed).toBe(false)
  })

  it('`return` unsubscribes the source and resolves pending calls as done', async () => {
    const states = new Subject<number>()
    const latest = new LatestIterator(states)
    const waiting = [latest.next(), latest.next()]
    expect(await latest.return()).toEqual(DONE)
    expect(await Promise.all(waiting)).toEqual([DONE, DONE])
    expect(states.observed).toBe(false)
    expect(await latest.next()).toEqual(DONE)
  })

  it('`return` before the first `next` never subscribes to the source', async () => {
    let subscribed = false
    const latest = new LatestIterator(
      new Observable(() => {
        subscribed = true
      }),
    )
    await latest.return()
    expect(await latest.next()).toEqual(DONE)
    expect(subscribed).toBe(false)
  })

  it('concurrent calls resolve in order', async () => {
    const states = new Subject<number>()
    const latest = new LatestIterator(states)
    const asked = [latest.next(), latest.next(), latest.next()]
    for (const state of [1, 2]) states.next(state)
    states.complete()
    expect(await Promise.all(asked)).toEqual([value(1), value(2), DONE])
  })

  it('the iterator returns values that the source emits synchronously', async () => {
    expect(await loop(of(1))).toEqual([1])
    expect(await loop(EMPTY)).toEqual([])
  })

  it('a loop waits while the source emits nothing', async () => {
    const latest = new LatestIterator(NEVER)
    const waiting = latest.next()
    await latest.return()
    expect(await waiting).toEqual(DONE)
  })

  it('a slow loop never receives an older state after a newer one, nor misses the last', async () => {
    // true: the source emits a state; false: the loop calls `next`
    await assert(
      asyncProperty(listOf(boolean(), { maxLength: 50 }), async steps => {
        const states = new Subject<number>()
        const latest = new LatestIterator(states)
        const seen: number[] = []
        let asked: Promise<unknown> = Promise.resolve()
        const ask = (): void => {
          asked = Promise.all([asked, latest.next().then(({ value }) => value !== undefined && seen.push(value))])
        }
        ask()
        let last = 0
        for (const comes of steps) {
          if (comes) states.next(++last)
          else ask()
        }
        states.complete()
        ask()
        ask()
        await asked
        expect(seen).toEqual([...new Set(seen)].sort((one, other) => one - other))
        expect(seen.at(-1) ?? 0).toBe(last)
      }),
    )
  })
})
