import { NEVER, of, throwError } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { watchMetrics } from '../../../../console/src/state/metrics.js'
import type { HistoryResponse, MetricsSample } from '../../../../src/server/console/contract.js'

const eventLoop = { p50: 0, p95: 1, p99: 2, max: 3 }
const sampleAt = (at: number): MetricsSample => ({ at, eventLoop })
const responseOf = (...times: readonly number[]): HistoryResponse => ({
  period: 10_000,
  memoryMark: 0.95,
  samples: times.map(sampleAt),
})

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('Watched metrics', () => {
  it('only samples after the newest known one are requested, and failed requests are repeated', () => {
    const responses = [
      of(responseOf(10_000, 20_000)),
      throwError(() => new TypeError('network')),
      of(responseOf(30_000)),
      of(responseOf()),
    ]
    const requested: number[] = []
    const history = (since: number) => {
      requested.push(since)
      return responses.shift() ?? of(responseOf())
    }
    const seen: (readonly number[])[] = []
    const watching = watchMetrics({ history }).subscribe(({ samples }) => seen.push(samples.map(({ at }) => at)))
    vi.advanceTimersByTime(15_000)
    watching.unsubscribe()
    vi.advanceTimersByTime(15_000)
    expect(requested).toEqual([0, 20_000, 20_000, 30_000])
    expect(seen).toEqual([
      [10_000, 20_000],
      [10_000, 20_000, 30_000],
      [10_000, 20_000, 30_000],
    ])
  })

  it('samples are requested again after a minute of silence', () => {
    const responses = [NEVER, of(responseOf(10_000))]
    const seen: number[] = []
    const watching = watchMetrics({ history: () => responses.shift() ?? NEVER }).subscribe(({ samples }) =>
      seen.push(samples.length),
    )
    vi.advanceTimersByTime(66_000)
    watching.unsubscribe()
    expect(seen).toEqual([1])
  })
})
