import { subscribe } from '../../core/diagnostics/index.js'
import type { Clock } from '../../core/util/clock.js'
import { EventLoopDelay } from '../metrics/event-loop-delay.js'
import { MEMORY_MARK } from '../metrics/health.js'
import { countPresentNodes } from '../metrics/store-samples.js'
import { type ConsoleStore, isAttached } from './console-store.js'
import type { HistoryResponse, MetricsSample, Percentiles } from './contract.js'
import { Durations, RequestDurations } from './durations.js'
import { increase } from './stats-stream.js'

const SECOND_MS = 1_000
const SECONDS_PER_PERIOD = 10
const PERIOD_MS = SECONDS_PER_PERIOD * SECOND_MS
/** The number of kept samples: one hour. */
const MAX_SAMPLES = 360

/** Samples the metrics of a store and this process, and keeps the last hour. */
export class MetricsHistory {
  readonly #store: ConsoleStore
  readonly #clock: Clock
  readonly #eventLoop = new EventLoopDelay()
  readonly #requests: RequestDurations
  readonly #flushes = new Durations()
  readonly #commits = new Durations()
  readonly #unsubscribeLog: () => void
  #samples: readonly MetricsSample[] = []
  #seconds = 0
  #sampledAt: number
  #requestCount: number
  #cancel: () => void

  constructor(store: ConsoleStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#requests = new RequestDurations(store.requests$)
    this.#unsubscribeLog = subscribe('rx-statestore:log', event => {
      if (event.type === 'flushed') this.#flushes.record(event.duration)
      else if (event.type === 'committed') this.#commits.record(event.duration)
    })
    this.#sampledAt = clock.monotonic()
    this.#requestCount = store.stats.requests
    this.#cancel = clock.schedule(SECOND_MS, () => this.#onSecond())
  }

  /**
   * Returns the samples after a time, or all samples if the newest one is older than this time, because the clock was
   * set back.
   */
  since(time: number): HistoryResponse {
    const isAhead = (this.#samples.at(-1)?.at ?? time) < time
    return {
      period: PERIOD_MS,
      samples: isAhead ? this.#samples : this.#samples.filter(({ at }) => at > time),
      ...(!isAttached(this.#store) && { limits: memoryOf(this.#store.limits) }),
      memoryMark: MEMORY_MARK,
    }
  }

  close(): void {
    this.#cancel()
    this.#unsubscribeLog()
    this.#requests.close()
    this.#eventLoop.close()
  }

  #onSecond(): void {
    this.#cancel = this.#clock.schedule(SECOND_MS, () => this.#onSecond())
    this.#requests.beginSecond()
    this.#seconds++
    if (this.#seconds < SECONDS_PER_PERIOD) return
    this.#seconds = 0
    const sample = this.#takeSample()
    // After the clock was set back, later samples of the former time would be out of order.
    const earlier = this.#samples.filter(({ at }) => at < sample.at)
    this.#samples = [...earlier.slice(1 - MAX_SAMPLES), sample]
  }

  #takeSample(): MetricsSample {
    const { startedAt, stats, cluster } = this.#store
    const now = this.#clock.monotonic()
    const requestsPerSecond = (increase(this.#requestCount, stats.requests) * 1_000) / (now - this.#sampledAt)
    this.#sampledAt = now
    this.#requestCount = stats.requests
    const latency = this.#requests.durations.take()
    const flush = this.#flushes.take()
    const commit = this.#commits.take()
    return {
      at: this.#clock.now(),
      eventLoop: this.#takeEventLoop(),
      ...(startedAt !== undefined && { requests: Math.round(10 * requestsPerSecond) / 10 }),
      ...(latency && { latency }),
      ...(flush && { flush }),
      ...(commit && cluster && { commit }),
      ...('bufferedBytes' in stats && { memory: memoryOf(stats) }),
      ...(cluster && {
        cluster: { lag: cluster.lag, present: countPresentNodes(cluster), nodes: cluster.nodes.length },
      }),
    }
  }

  #takeEventLoop(): Percentiles {
    const ms = (percent: number): number => Math.round(1_000 * this.#eventLoop.percentile(percent)) / 1_000
    const percentiles = { p50: ms(50), p95: ms(95), p99: ms(99), max: ms(100) }
    this.#eventLoop.reset()
    return percentiles
  }
}

const memoryOf = ({ bytes, bufferedBytes }: { readonly bytes: number; readonly bufferedBytes: number }) => ({
  bytes,
  bufferedBytes,
})
