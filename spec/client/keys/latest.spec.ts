import { assert, asyncProperty, boolean, array as listOf } from 'fast-check'
import { concat, EMPTY, NEVER, Observable, of, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { LatestIterator } from '../../../src/client/keys/latest.js'
import { AbortError } from '../../../src/core/util/errors.js'

const value = (of: unknown) => ({ done: false, value: of })
const DONE = { done: true, value: undefined }

/** What a loop gets that does this with every value. */
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

describe('A loop over an observable of states', () => {
  it('subscribes when it asks for the first one, and not before', async () => {
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

  it('gets every value when it keeps up', async () => {
    const states = new Subject<number>()
    const latest = new LatestIterator(states)
    for (const state of [1, 2, 3]) {
      const next = latest.next()
      states.next(state)
      expect(await next).toEqual(value(state))
    }
  })

  it('gets the newest of what came while it was busy, and then waits', async () => {
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
  ])('gets the last value before the stream %s', async (_, end, error) => {
    const seen: number[] = []
    const run = async (): Promise<void> => {
      for await (const state of new LatestIterator(concat(of(1, 2, 3), end))) seen.push(state)
    }
    await (error ? expect(run()).rejects.toEqual(error) : run())
    expect(seen).toEqual([1, 3])
  })

  it('fails once, and is over then', async () => {
    const latest = new LatestIterator(throwError(() => 'gone'))
    await expect(latest.next()).rejects.toBe('gone')
    expect(await latest.next()).toEqual(DONE)
  })

  it('gets nothing more once it was aborted', async () => {
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
    ['is left', () => false],
    [
      'fails itself',
      () => {
        throw new Error('body')
      },
    ],
  ])('unsubscribes when it %s', async (_, goOn) => {
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

  it('that nobody runs any more is over for whoever waits, and unsubscribed', async () => {
    const states = new Subject<number>()
    const latest = new LatestIterator(states)
    const waiting = [latest.next(), latest.next()]
    expect(await latest.return()).toEqual(DONE)
    expect(await Promise.all(waiting)).toEqual([DONE, DONE])
    expect(states.observed).toBe(false)
    expect(await latest.next()).toEqual(DONE)
  })

  it('that was left before it began never subscribes', async () => {
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

  it('answers in the order it was asked', async () => {
    const states = new Subject<number>()
    const latest = new LatestIterator(states)
    const asked = [latest.next(), latest.next(), latest.next()]
    for (const state of [1, 2]) states.next(state)
    states.complete()
    expect(await Promise.all(asked)).toEqual([value(1), value(2), DONE])
  })

  it('takes what is said at once', async () => {
    expect(await loop(of(1))).toEqual([1])
    expect(await loop(EMPTY)).toEqual([])
  })

  it('waits as long as nothing is said', async () => {
    const latest = new LatestIterator(NEVER)
    const waiting = latest.next()
    await latest.return()
    expect(await waiting).toEqual(DONE)
  })

  it('never goes back, and never misses the last state, however slow it is', async () => {
    // true: a state comes; false: the loop is ready for the next one
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
