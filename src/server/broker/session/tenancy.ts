import type { Deadline } from '../../../core/util/deadlines.js'
import type { Host } from './host.js'

/** How long a client may stay by what it has proved. */
export class Tenancy {
  readonly #host: Pick<Host<never>, 'clock' | 'timeouts'>
  readonly #over: () => void
  #deadline: Deadline<() => void> | undefined

  /** @param over - the time has come */
  constructor(host: Pick<Host<never>, 'clock' | 'timeouts'>, over: () => void) {
    this.#host = host
    this.#over = over
  }

  /** @param time - ms since the Unix epoch; `undefined` for ever */
  until(time: number | undefined): void {
    const { clock, timeouts } = this.#host
    if (this.#deadline) timeouts.remove(this.#deadline)
    this.#deadline = time === undefined ? undefined : timeouts.add(clock.monotonic() + time - clock.now(), this.#over)
  }
}
