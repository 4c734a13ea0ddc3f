import { NEVER, Observable, of, Subject, throwError } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { SyncQueue, SyncTask } from '../../../src/client/retained/sync-queue.js'
import { ManualClock } from '../../support/manual-clock.js'

function conveyor() {
  const clock = new ManualClock()
  const belt = new SyncQueue(clock, error => error === 'passes')
  belt.start()
  const carried: string[] = []
  const parcel = (name: string, carry: () => Observable<unknown>) => new SyncTask(carry, () => carried.push(name))
  return { clock, belt, carried, parcel }
}

describe('SyncQueue', () => {
  it('a task enqueued while it runs, even repeatedly, runs once more', () => {
    const { belt, parcel, carried } = conveyor()
    const ways: Subject<void>[] = []
    const one = parcel('one', () => {
      const way = new Subject<void>()
      ways.push(way)
      return way
    })
    for (let i = 0; i < 3; i++) belt.enqueue(one)
    expect(ways).toHaveLength(1)
    ways[0]?.complete()
    expect(ways).toHaveLength(2)
    expect(carried).toEqual(['one'])
    ways[1]?.complete()
    expect(ways).toHaveLength(2)
    expect(one.isBusy).toBe(false)
  })

  it('64 tasks run concurrently, in order', () => {
    const { belt, parcel } = conveyor()
    const begun: number[] = []
    const ways: Subject<void>[] = []
    for (let i = 0; i < 100; i++)
      belt.enqueue(
        parcel('', () => {
          begun.push(i)
          const way = new Subject<void>()
          ways.push(way)
          return way
        }),
      )
    expect(begun).toHaveLength(64)
    ways[10]?.complete()
    expect(begun.at(-1)).toBe(64)
  })

  it('synchronous tasks do not grow the stack', () => {
    const { belt, parcel, carried } = conveyor()
    belt.stop()
    for (let i = 0; i < 50_000; i++) belt.enqueue(parcel('x', () => of(1)))
    belt.start()
    expect(carried).toHaveLength(50_000)
  })

  it('a transient error pauses the queue with backoff, then all tasks continue', () => {
    const chance = vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => chance.mockRestore())
    const { clock, belt, parcel, carried } = conveyor()
    let attempts = 0
    belt.enqueue(parcel('hard', () => (++attempts <= 3 ? throwError(() => 'passes') : of(1))))
    belt.enqueue(parcel('easy', () => of(1)))
    expect(attempts).toBe(1)
    clock.advance(49)
    expect([attempts, carried]).toEqual([1, []])
    clock.advance(1)
    expect([attempts, carried]).toEqual([2, []])
    clock.advance(99)
    expect([attempts, carried]).toEqual([2, []])
    clock.advance(1)
    expect([attempts, carried]).toEqual([3, ['easy']])
    // A completed task resets the backoff.
    clock.advance(50)
    expect([attempts, carried]).toEqual([4, ['easy', 'hard']])
    expect(clock.pending).toBe(0)
  })

  it('a permanent error drops the value, but a newer one is transferred', () => {
    const { belt, parcel, carried } = conveyor()
    const way = new Subject<void>()
    let attempts = 0
    const one = parcel('one', () => (++attempts === 1 ? way : of(1)))
    belt.enqueue(one)
    belt.enqueue(one)
    way.error('lasts')
    expect(attempts).toBe(2)
    expect(carried).toContain('one')
  })

  it('the queue continues after a task that throws', () => {
    const { belt, parcel, carried } = conveyor()
    belt.enqueue(
      parcel('bad', () => {
        throw new Error('unfit')
      }),
    )
    belt.enqueue(parcel('good', () => of(1)))
    expect(carried).toEqual(['bad', 'good'])
  })

  it('a stopped queue reruns its running tasks after the restart', () => {
    const { clock, belt, parcel, carried } = conveyor()
    let left = 0
    let isHere = false
    const one = parcel('one', () => (isHere ? of(1) : new Observable(() => () => void left++)))
    belt.enqueue(one)
    belt.enqueue(parcel('two', () => (isHere ? of(1) : NEVER)))
    belt.stop()
    expect(left).toBe(1)
    isHere = true
    expect(carried).toEqual([])
    belt.start()
    expect(carried).toEqual(['one', 'two'])
    expect(clock.pending).toBe(0)
  })

  it('a task that causes stops is found, as it runs first and finally alone', () => {
    const { belt, carried } = conveyor()
    const ways = new Map<number, Subject<void>>()
    const lost: unknown[] = []
    let isConvicted = false
    for (let i = 0; i < 100; i++) {
      const carry = () => {
        const way = new Subject<void>()
        ways.set(i, way)
        return i === 40 && isConvicted ? of(1) : way
      }
      const lostAlone = (cause: unknown) => {
        lost.push(i, cause)
        isConvicted = true
      }
      belt.enqueue(new SyncTask(carry, () => carried.push(String(i)), lostAlone))
    }
    let stops = 0
    while (carried.length < 100 && stops < 10) {
      const underway = Array.from(ways)
      ways.clear()
      if (underway.some(([i]) => i === 40) && !isConvicted) {
        stops++
        // Earlier tasks have completed by then.
        for (const [i, way] of underway) if (stops > 1 && i < 40) way.complete()
        ways.clear()
        belt.stop('why')
        belt.start()
      } else for (const [, way] of underway) way.complete()
    }
    expect(lost).toEqual([40, 'why'])
    expect(carried).toHaveLength(100)
    expect(stops).toBeLessThan(5)
  })
})
