import { createHistogram } from 'node:perf_hooks'
import type { Observable, Subscription } from 'rxjs'
import type { RequestReport } from '../service/store-service.js'
import type { Percentiles } from './contract.js'

const MAX_DURATION_MICROSECONDS = 3_600_000_000

/** Collects durations in constant memory, with an error of at most 1 %. */
export class Durations {
  readonly #microseconds = createHistogram({ lowest: 1, highest: MAX_DURATION_MICROSECONDS, figures: 2 })

  record(ms: number): void {
    this.#microseconds.record(Math.min(MAX_DURATION_MICROSECONDS, Math.max(1, Math.round(ms * 1_000))))
  }

  /** Returns the percentiles of the durations since the last call, or `undefined` if there are none. */
  take(): Percentiles | undefined {
    if (this.#microseconds.count === 0) return undefined
    const ms = (percent: number): number => this.#microseconds.percentile(percent) / 1_000
    const percentiles = { p50: ms(50), p95: ms(95), p99: ms(99), max: ms(100) }
    this.#microseconds.reset()
    return percentiles
  }
}

/**
 * The number of requests in a second after which no further ones are measured. A measurement takes about 0.2 µs, so the
 * measurements take at most 0.1 % of the time.
 */
const MAX_MEASURED = 5_000

/** Measures the durations of requests to a store, at most the first {@link MAX_MEASURED} of each second. */
export class RequestDurations {
  readonly durations = new Durations()
  readonly #requests$: Observable<RequestReport>
  #measured = 0
  #subscription: Subscription | undefined

  constructor(requests$: Observable<RequestReport>) {
    this.#requests$ = requests$
    this.beginSecond()
  }

  beginSecond(): void {
    this.#measured = 0
    this.#subscription ??= this.#requests$.subscribe(({ duration }) => {
      if (duration === undefined) return
      this.durations.record(duration)
      this.#measured++
      if (this.#measured >= MAX_MEASURED) this.close()
    })
  }

  close(): void {
    this.#subscription?.unsubscribe()
    this.#subscription = undefined
  }
}
