import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expected, type Job, jobs, runJobs } from '../../../support/operator-runs.js'

const concurrency = fc.integer({ min: 1, max: 5 })

const sorted = (ids: readonly number[]): number[] => Array.from(ids).sort((a, b) => a - b)
const idsOf = (items: readonly Job[]): number[] => items.map(({ id }) => id)

describe('a pipeline, for random items, latencies and concurrency', () => {
  it('requests start and results are emitted in source order, each as early as possible', () => {
    fc.assert(
      fc.property(jobs, concurrency, (items, limit) => {
        const { started, results } = runJobs(items, { concurrency: limit })
        expect({ started, results }).toEqual(expected(items, limit))
      }),
    )
  })

  it('a pipeline never exceeds the concurrency limit, and ends with no request in flight', () => {
    fc.assert(
      fc.property(jobs, concurrency, fc.boolean(), (items, limit, latest) => {
        const run = runJobs(items, { concurrency: limit, latest })
        expect(run.most.all).toBeLessThanOrEqual(limit)
        expect(run.underWay).toBe(0)
      }),
    )
  })

  it('a pipeline completes with its last result or its source, whichever is later', () => {
    fc.assert(
      fc.property(jobs, concurrency, fc.boolean(), (items, limit, latest) => {
        const run = runJobs(items, { concurrency: limit, latest })
        expect(run.completedAt).toBe(Math.max(items.at(-1)?.at ?? 0, run.results.at(-1)?.at ?? 0))
      }),
    )
  })

  it('a pipeline leaves no subscription after unsubscribe', () => {
    fc.assert(
      fc.property(jobs, concurrency, fc.boolean(), fc.nat(60), (items, limit, latest, end) => {
        const run = runJobs(items, { concurrency: limit, latest }, end)
        const whole = runJobs(items, { concurrency: limit, latest })
        expect(run.underWay).toBe(0)
        expect(run.started.filter(({ at }) => at > end)).toEqual([])
        expect(run.results.filter(({ at }) => at > end)).toEqual([])
        expect(run.started.filter(({ at }) => at < end)).toEqual(whole.started.filter(({ at }) => at < end))
        expect(run.results.filter(({ at }) => at < end)).toEqual(whole.results.filter(({ at }) => at < end))
      }),
    )
  })
})

describe('a pipeline with `latest`, for random items, latencies and concurrency', () => {
  it('a pipeline with `latest` has at most one request of a key in flight', () => {
    fc.assert(
      fc.property(jobs, concurrency, (items, limit) => {
        expect(runJobs(items, { concurrency: limit, latest: true }).most.perKey).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('with `latest`, the items of a key start in source order, including the last one', () => {
    fc.assert(
      fc.property(jobs, concurrency, (items, limit) => {
        const { started } = runJobs(items, { concurrency: limit, latest: true })
        for (const key of new Set(items.map(job => job.key))) {
          const ids = idsOf(started.map(({ job }) => job).filter(job => job.key === key))
          expect(ids).toEqual(sorted(ids))
          expect(ids.at(-1)).toBe(idsOf(items.filter(job => job.key === key)).at(-1))
        }
      }),
    )
  })

  it('a pipeline with `latest` emits one result per request in source order', () => {
    fc.assert(
      fc.property(jobs, concurrency, (items, limit) => {
        const { started, results } = runJobs(items, { concurrency: limit, latest: true })
        const ids = idsOf(started.map(({ job }) => job))
        expect(idsOf(results.map(({ id }) => items[id]).filter(job => job !== undefined))).toEqual(sorted(ids))
      }),
    )
  })

  it('with `latest`, only a newer item of its key that arrived in time displaces an item', () => {
    fc.assert(
      fc.property(jobs, concurrency, (items, limit) => {
        const { started } = runJobs(items, { concurrency: limit, latest: true })
        for (const dropped of items.filter(item => !started.some(({ job }) => job === item))) {
          const newer = items.find(({ id, key }) => id > dropped.id && key === dropped.key)
          const underWay = started.filter(({ job, at }) => at <= dropped.at && at + job.latency >= dropped.at)
          const keyIsBusy = underWay.some(({ job }) => job.key === dropped.key && job.id < dropped.id)
          expect(newer).toBeDefined()
          expect(keyIsBusy || underWay.length >= limit).toBe(true)
        }
      }),
    )
  })
})
