import { NEVER, Observable, of, Subject, throwError } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { SyncQueue, SyncTask } from '../../../src/client/retained/sync-queue.js'
import { ManualClock } from '../../support/manual-clock.js'

function createQueue() {
  const clock = new ManualClock()
  const queue = new SyncQueue(clock, error => error === 'passes')
  queue.start()
  const done: string[] = []
  const task = (name: string, transfer: () => Observable<unknown>) => new SyncTask(transfer, () => done.push(name))
  return { clock, queue, done, task }
}

describe('SyncQueue', () => {
  it('a task that is enqueued while it runs, even repeatedly, runs one more time', () => {
    const { queue, task, done } = createQueue()
    const runs: Subject<void>[] = []
    const one = task('one', () => {
      const run = new Subject<void>()
      runs.push(run)
      return run
    })
    for (let i = 0; i < 3; i++) queue.enqueue(one)
    expect(runs).toHaveLength(1)
    runs[0]?.complete()
    expect(runs).toHaveLength(2)
    expect(done).toEqual(['one'])
    runs[1]?.complete()
    expect(runs).toHaveLength(2)
    expect(one.isBusy).toBe(false)
  })

  it('64 tasks run concurrently and start in order', () => {
    const { queue, task } = createQueue()
    const begun: number[] = []
    const runs: Subject<void>[] = []
    for (let i = 0; i < 100; i++)
      queue.enqueue(
        task('', () => {
          begun.push(i)
          const run = new Subject<void>()
          runs.push(run)
          return run
        }),
      )
    expect(begun).toHaveLength(64)
    runs[10]?.complete()
    expect(begun.at(-1)).toBe(64)
  })

  it('many synchronous tasks do not overflow the stack', () => {
    const { queue, task, done } = createQueue()
    queue.stop()
    for (let i = 0; i < 50_000; i++) queue.enqueue(task('x', () => of(1)))
    queue.start()
    expect(done).toHaveLength(50_000)
  })

  it('a transient error pauses the queue with backoff, then all tasks continue', () => {
    const chance = vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => chance.mockRestore())
    const { clock, queue, task, done } = createQueue()
    let attempts = 0
    queue.enqueue(task('hard', () => (++attempts <= 3 ? throwError(() => 'passes') : of(1))))
    queue.enqueue(task('easy', () => of(1)))
    expect(attempts).toBe(1)
    clock.advance(49)
    expect([attempts, done]).toEqual([1, []])
    clock.advance(1)
    expect([attempts, done]).toEqual([2, []])
    clock.advance(99)
    expect([attempts, done]).toEqual([2, []])
    clock.advance(1)
    expect([attempts, done]).toEqual([3, ['easy']])
    // A completed task resets the backoff.
    clock.advance(50)
    expect([attempts, done]).toEqual([4, ['easy', 'hard']])
    expect(clock.pending).toBe(0)
  })

  it('a permanent error drops the value, but a newer value is still transferred', () => {
    const { queue, task, done } = createQueue()
    const run = new Subject<void>()
    let attempts = 0
    const one = task('one', () => (++attempts === 1 ? run : of(1)))
    queue.enqueue(one)
    queue.enqueue(one)
    run.error('lasts')
    expect(attempts).toBe(2)
    expect(done).toContain('one')
  })

  it('the queue continues after a task that throws', () => {
    const { queue, task, done } = createQueue()
    queue.enqueue(
      task('bad', () => {
        throw new Error('unfit')
      }),
    )
    queue.enqueue(task('good', () => of(1)))
    expect(done).toEqual(['bad', 'good'])
  })

  it('a stopped queue runs its interrupted tasks again after the restart', () => {
    const { clock, queue, task, done } = createQueue()
    let left = 0
    let isHere = false
    const one = task('one', () => (isHere ? of(1) : new Observable(() => () => void left++)))
    queue.enqueue(one)
    queue.enqueue(task('two', () => (isHere ? of(1) : NEVER)))
    queue.stop()
    expect(left).toBe(1)
    isHere = true
    expect(done).toEqual([])
    queue.start()
    expect(done).toEqual(['one', 'two'])
    expect(clock.pending).toBe(0)
  })

  it('a task that causes stops is identified, as it runs first and in the end alone', () => {
    const { queue, done } = createQueue()
    const runs = new Map<number, Subject<void>>()
    const lost: unknown[] = []
    let isConvicted = false
    for (let i = 0; i < 100; i++) {
      const transfer = () => {
        const run = new Subject<void>()
        runs.set(i, run)
        return i === 40 && isConvicted ? of(1) : run
      }
      const lostAlone = (cause: unknown) => {
        lost.push(i, cause)
        isConvicted = true
      }
      queue.enqueue(new SyncTask(transfer, () => done.push(String(i)), lostAlone))
    }
    let stops = 0
    while (done.length < 100 && stops < 10) {
      const underway = Array.from(runs)
      runs.clear()
      if (underway.some(([i]) => i === 40) && !isConvicted) {
        stops++
        // Earlier tasks have completed by the time of a later stop.
        for (const [i, run] of underway) if (stops > 1 && i < 40) run.complete()
        runs.clear()
        queue.stop('why')
        queue.start()
      } else for (const [, run] of underway) run.complete()
    }
    expect(lost).toEqual([40, 'why'])
    expect(done).toHaveLength(100)
    expect(stops).toBeLessThan(5)
  })
})
