import fc from 'fast-check'
import { Observable, Subject, VirtualTimeScheduler } from 'rxjs'
import { type PipelineOptions, pipeline } from '../../src/client/keys/operators/pipeline.js'

/** An item of a random run: the time at which it arrives, its key, and the duration of its request (0 for none). */
export interface Job {
  readonly id: number
  readonly at: number
  readonly key: number
  readonly latency: number
}

/** A run's observations, with virtual times. */
export interface Run {
  readonly started: { readonly job: Job; readonly at: number }[]
  readonly results: { readonly id: number; readonly at: number }[]
  /** The maximum numbers of requests in flight, of all keys and of one key. */
  readonly most: { all: number; perKey: number }
  completedAt: number | undefined
  /** The number of requests that still have a subscriber at the end of the run. */
  underWay: number
}

const timing = fc.record({ gap: fc.nat(3), key: fc.nat(2), latency: fc.nat(9) })

/** Items in order of time. Several items may have the same time. */
export const jobs: fc.Arbitrary<readonly Job[]> = fc.array(timing, { maxLength: 30 }).map(timings => {
  let at = 0
  return timings.map(({ gap, key, latency }, id) => {
    at += gap
    return { id, at, key, latency }
  })
})

/** Runs a pipeline over the items in virtual time until it is idle. */
export function runJobs(
  items: readonly Job[],
  options: PipelineOptions,
  unsubscribeAt = Number.POSITIVE_INFINITY,
): Run {
  const scheduler = new VirtualTimeScheduler()
  const run: Run = { started: [], results: [], most: { all: 0, perKey: 0 }, completedAt: undefined, underWay: 0 }
  const busy = new Map<number, number>()

  const count = (key: number, by: 1 | -1): void => {
    run.underWay += by
    busy.set(key, (busy.get(key) ?? 0) + by)
    run.most.all = Math.max(run.most.all, run.underWay)
    run.most.perKey = Math.max(run.most.perKey, busy.get(key) ?? 0)
  }
  // A request ends with its response or its cancellation, whichever comes first.
  const enter = (key: number): (() => void) => {
    let over = false
    count(key, 1)
    return () => {
      if (!over) count(key, -1)
      over = true
    }
  }
  const request = (job: Job): Observable<number> =>
    new Observable(subscriber => {
      run.started.push({ job, at: scheduler.now() })
      const leave = enter(job.key)
      subscriber.add(leave)
      const answer = (): void => {
        leave()
        subscriber.next(job.id)
        subscriber.complete()
      }
      if (job.latency === 0) answer()
      else subscriber.add(scheduler.schedule(answer, job.latency))
    })

  const source = new Subject<Job>()
  const subscription = source.pipe(pipeline(request, job => String(job.key), options)).subscribe({
    next: id => run.results.push({ id, at: scheduler.now() }),
    complete: () => {
      run.completedAt = scheduler.now()
    },
  })
  for (const job of items) scheduler.schedule(() => source.next(job), job.at)
  scheduler.schedule(() => source.complete(), items.at(-1)?.at ?? 0)
  if (Number.isFinite(unsubscribeAt)) scheduler.schedule(() => subscription.unsubscribe(), unsubscribeAt)
  scheduler.flush()
  return run
}

/**
 * Computes the results of `concurrency` servers with one queue. Each item starts as soon as it is the first in the
 * queue and a server is free. Its result is emitted when this item and all earlier items are done.
 */
export function expected(items: readonly Job[], concurrency: number): Pick<Run, 'started' | 'results'> {
  const free = Array.from({ length: concurrency }, () => 0)
  let previous = 0
  const started = items.map(job => {
    const server = free.indexOf(Math.min(...free))
    const at = Math.max(job.at, free[server] ?? 0)
    free[server] = at + job.latency
    return { job, at }
  })
  const results = started.map(({ job, at }) => {
    previous = Math.max(previous, at + job.latency)
    return { id: job.id, at: previous }
  })
  return { started, results }
}
