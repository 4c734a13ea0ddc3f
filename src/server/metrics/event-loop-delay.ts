import { monitorEventLoopDelay } from 'node:perf_hooks'

const NANOSECONDS_PER_MS = 1e6
/** The interval at which the delay of the event loop is measured, ms. */
const RESOLUTION_MS = 20

/** Measures the delays of the event loop of this process since the last {@link reset}. */
export class EventLoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor() {
    this.#histogram.enable()
  }

  /** Returns a percentile of the delays in ms; 100 is the longest delay. */
  percentile(percent: number): number {
    return Math.max(0, this.#histogram.percentile(percent) / NANOSECONDS_PER_MS - RESOLUTION_MS)
  }

  reset(): void {
    this.#histogram.reset()
  }

  close(): void {
    this.#histogram.disable()
  }
}
