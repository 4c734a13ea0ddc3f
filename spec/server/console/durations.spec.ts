import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { Durations, RequestDurations } from '../../../src/server/console/durations.js'
import type { RequestReport } from '../../../src/server/service/store-service.js'

const reportOf = (duration: number | undefined): RequestReport => ({
  clientId: 'alice',
  payload: new Uint8Array(0),
  outcome: 'ok',
  repeated: false,
  duration,
})

describe('Durations', () => {
  it('percentiles of durations have an error of at most 1 %', () => {
    const durations = new Durations()
    for (let n = 1; n <= 1_000; n++) durations.record(n / 10)
    const { p50, p95, p99, max } = durations.take() ?? {}
    for (const [found, exact] of [
      [p50, 50],
      [p95, 95],
      [p99, 99],
      [max, 100],
    ])
      expect(Math.abs((found ?? 0) / (exact ?? 0) - 1)).toBeLessThan(0.01)
  })

  it('percentiles cover the durations since they were last taken, and are undefined without any', () => {
    const durations = new Durations()
    expect(durations.take()).toBeUndefined()
    durations.record(8)
    expect(durations.take()?.p50).toBeCloseTo(8, 1)
    durations.record(1)
    expect(durations.take()?.max).toBeCloseTo(1, 1)
    expect(durations.take()).toBeUndefined()
  })

  it('below a microsecond and above an hour count as these limits', () => {
    const durations = new Durations()
    durations.record(0)
    expect(durations.take()?.max).toBe(0.001)
    durations.record(86_400_000)
    expect((durations.take()?.max ?? 0) / 3_600_000).toBeCloseTo(1)
  })
})

describe('The durations of requests', () => {
  it('the first 5,000 requests of each second are measured, and further ones are not observed', () => {
    const requests$ = new Subject<RequestReport>()
    const requests = new RequestDurations(requests$)
    for (let n = 1; n < 5_000; n++) requests$.next(reportOf(1))
    expect(requests$.observed).toBe(true)
    requests$.next(reportOf(1))
    expect(requests$.observed).toBe(false)
    requests$.next(reportOf(60))
    requests.beginSecond()
    requests$.next(reportOf(2))
    expect(requests.durations.take()?.max).toBeCloseTo(2, 1)
    requests.beginSecond()
    requests.beginSecond()
    requests.close()
    expect(requests$.observed).toBe(false)
  })

  it('requests that arrived before they were observed have no duration and are not measured', () => {
    const requests$ = new Subject<RequestReport>()
    const requests = new RequestDurations(requests$)
    requests$.next(reportOf(undefined))
    expect(requests.durations.take()).toBeUndefined()
  })
})
