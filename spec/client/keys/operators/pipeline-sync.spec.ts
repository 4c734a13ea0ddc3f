import { concat, defer, EMPTY, from, NEVER, Observable, of, range, Subject, take, tap, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { pipeline } from '../../../../src/client/keys/operators/pipeline.js'
import { record } from '../../../support/open-client.js'

const echo = <T>(item: T): Observable<T> => of(item)
const same = (item: string): string => item
/** Maps items with the same first letter to one key. */
const letterOf = (item: string): string => item.slice(0, 1)

describe('a pipeline with synchronous requests', () => {
  it('a pipeline emits synchronously, in order, and completes', () => {
    const seen: string[] = []
    from(['a', 'b', 'c'])
      .pipe(pipeline(item => of(item.toUpperCase()), same, { concurrency: 1 }))
      .subscribe({ next: result => seen.push(result), complete: () => seen.push('complete') })
    expect(seen).toEqual(['A', 'B', 'C', 'complete'])
  })

  it('a pipeline does not overflow the stack for a long queue', () => {
    let results = 0
    const gate = new Subject<number>()
    const request = (item: number) => (item === 0 ? gate : of(item))
    range(0, 50_001)
      .pipe(pipeline(request, String, { concurrency: 1 }))
      .subscribe(() => results++)
    gate.next(0)
    gate.complete()
    expect(results).toBe(50_001)
  })

  it('a pipeline ends with the first error and starts no further request', () => {
    const made: string[] = []
    const errors: unknown[] = []
    const request = (item: string) => {
      made.push(item)
      return item === 'b' ? throwError(() => 'refused') : of(item)
    }
    const source = new Subject<string>()
    source.pipe(pipeline(request, same, {})).subscribe({ error: error => errors.push(error) })
    for (const item of ['a', 'b', 'c']) source.next(item)
    expect({ made, errors, observed: source.observed }).toEqual({
      made: ['a', 'b'],
      errors: ['refused'],
      observed: false,
    })
  })

  it('a pipeline skips requests without a result and completes', () => {
    const seen: string[] = []
    of('a', 'b')
      .pipe(pipeline(() => EMPTY, same, {}))
      .subscribe({ next: () => seen.push('next'), complete: () => seen.push('complete') })
    expect(seen).toEqual(['complete'])
  })
})

describe('a pipeline whose subscriber reacts to a result', () => {
  it('a pipeline accepts items that the subscriber pushes into the source, in order', () => {
    const source = new Subject<number>()
    const seen: (number | string)[] = []
    source.pipe(pipeline(echo, String, { concurrency: 1 })).subscribe({
      next: result => {
        seen.push(result)
        if (result < 3) source.next(result + 1)
        else source.complete()
      },
      complete: () => seen.push('complete'),
    })
    source.next(1)
    expect(seen).toEqual([1, 2, 3, 'complete'])
  })

  it('a pipeline accepts several items that are pushed for one result, in order', () => {
    const source = new Subject<string>()
    const seen: string[] = []
    source.pipe(pipeline(echo, same, { concurrency: 1 })).subscribe(result => {
      seen.push(result)
      if (result.length < 3) for (const letter of 'xy') source.next(result + letter)
    })
    source.next('-')
    // Items that are pushed later are emitted later, level by level.
    expect(seen).toEqual(['-', '-x', '-y', '-xx', '-xy', '-yx', '-yy'])
  })

  it('items pushed between pending results emit their results after those results', () => {
    const source = new Subject<string>()
    const slow = new Subject<string>()
    const seen: string[] = []
    const request = (item: string) => (item === 'slow' ? slow : of(item))
    source.pipe(pipeline(request, same, {})).subscribe(result => {
      seen.push(result)
      if (result === 'slow') source.next('pushed')
    })
    for (const item of ['slow', 'b', 'c']) source.next(item)
    slow.next('slow')
    slow.complete()
    expect(seen).toEqual(['slow', 'b', 'c', 'pushed'])
  })

  it('a pipeline starts nothing more when the subscriber unsubscribes on a result', () => {
    const made: string[] = []
    const slow = new Subject<string>()
    const source = new Subject<string>()
    const request = (item: string) => {
      made.push(item)
      return item === 'a' ? slow : of(item)
    }
    source.pipe(pipeline(request, same, { concurrency: 1 }), take(2)).subscribe()
    for (const item of ['a', 'b', 'c', 'd']) source.next(item)
    slow.next('a')
    slow.complete()
    expect({ made, observed: source.observed }).toEqual({ made: ['a', 'b'], observed: false })
  })

  it('a pipeline accepts items that are pushed while it creates a request', () => {
    const source = new Subject<string>()
    const request = (item: string) => {
      if (item === 'a') source.next('b')
      return of(item)
    }
    const { values: seen } = record(source.pipe(pipeline(request, same, {})))
    source.next('a')
    expect(seen).toEqual(['a', 'b'])
  })

  it('a pipeline cancels a request whose creation made the subscriber unsubscribe', () => {
    const torn: string[] = []
    const request = (item: string) =>
      new Observable<string>(() => {
        subscription.unsubscribe()
        return () => torn.push(item)
      })
    const source = new Subject<string>()
    const subscription = source.pipe(pipeline(request, same, {})).subscribe()
    source.next('a')
    expect({ torn, observed: source.observed }).toEqual({ torn: ['a'], observed: false })
  })
})

describe('a pipeline with `latest` and requests that affect each other', () => {
  it('a pipeline starts the queued item of a key that becomes idle while another request starts', () => {
    const slow = new Subject<string>()
    const seen: string[] = []
    const request = (item: string) => {
      if (item === 'a1') return slow
      if (item !== 'b1') return of(item)
      // A transport that delivers a response while it accepts a request does this.
      slow.next('a1')
      slow.complete()
      return of('b1')
    }
    from(['a1', 'a2', 'b1'])
      .pipe(pipeline(request, letterOf, { latest: true }))
      .subscribe({ next: result => seen.push(result), complete: () => seen.push('complete') })
    expect(seen).toEqual(['a1', 'a2', 'b1', 'complete'])
  })

  it('of the items pushed for one result, the first and the newest are started', () => {
    const source = new Subject<string>()
    const slow = new Subject<string>()
    const made: string[] = []
    const request = (item: string) => {
      made.push(item)
      return item === 'a1' ? slow : NEVER
    }
    source.pipe(pipeline(request, letterOf, { latest: true })).subscribe(() => {
      for (const item of ['a2', 'a3', 'a4']) source.next(item)
    })
    source.next('a1')
    slow.next('a1')
    slow.complete()
    // The key is idle by then, so the first item starts and the newest of the others is queued.
    expect(made).toEqual(['a1', 'a2'])
  })
})

describe('a pipeline with a synchronous source', () => {
  /** Emits 1,000 items and counts those that are pulled. */
  const counted = () => {
    const count = { pulled: 0 }
    const source = concat(range(0, 1000), NEVER).pipe(tap(() => count.pulled++))
    return { source, count }
  }

  it('a pipeline stops pulling from a synchronous source when the subscriber unsubscribes', () => {
    const { source, count } = counted()
    source.pipe(pipeline(echo, String, {}), take(3)).subscribe()
    expect(count.pulled).toBe(3)
  })

  it('a pipeline stops pulling when a request fails', () => {
    const { source, count } = counted()
    const refused = () => throwError(() => 'refused')
    source.pipe(pipeline(refused, String, {})).subscribe({ error: () => undefined })
    expect(count.pulled).toBe(1)
  })

  it('a pipeline stops pulling when the buffer overflows', () => {
    const { source, count } = counted()
    const options = { concurrency: 1, buffer: 1 }
    source.pipe(pipeline(() => NEVER, String, options)).subscribe({ error: () => undefined })
    expect(count.pulled).toBe(3)
  })

  it('a pipeline subscribes to its source once, on subscription', () => {
    let subscribed = 0
    const source = defer(() => {
      subscribed++
      return of('a')
    })
    const result = source.pipe(pipeline(echo, same, {}))
    expect(subscribed).toBe(0)
    result.subscribe()
    expect(subscribed).toBe(1)
  })
})
