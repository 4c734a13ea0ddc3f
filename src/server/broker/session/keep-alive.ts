import type { Deadline } from '../../../core/util/deadlines.js'
import type { Host } from './connection-host.js'

/** Watches whether a client says something in time: first CONNECT, then anything (MQTT 5.0, section 3.1.2.10). */
export class KeepAlive {
  readonly #host: Pick<Host<never>, 'clock' | 'timeouts'>
  readonly #silent: () => void
  #deadline: Deadline<() => void> | undefined
  /** ms */
  #limit = 0
  #seen = 0

  /**
   * @param timeout - until {@link start}, ms
   * @param silent - called when the time is over, again and again until {@link stop}
   */
  constructor(host: Pick<Host<never>, 'clock' | 'timeouts'>, timeout: number, silent: () => void) {
    this.#host = host
    this.#silent = silent
    this.#deadline = host.timeouts.add(host.clock.monotonic() + timeout, silent)
  }

  /** Something came. */
  seen(): void {
    if (this.#limit > 0) this.#seen = this.#host.clock.monotonic()
  }

  /** @param limit - longest silence from now on, ms; 0 for any */
  start(limit: number): void {
    this.stop()
    this.#limit = limit
    if (limit === 0) return
    this.#seen = this.#host.clock.monotonic()
    this.#arm()
  }

  stop(): void {
    if (this.#deadline) this.#host.timeouts.remove(this.#deadline)
    this.#deadline = undefined
    this.#limit = 0
  }

  #arm(): void {
    this.#deadline = this.#host.timeouts.add(this.#seen + this.#limit, this.#ring)
  }

  readonly #ring = (): void => {
    if (this.#seen + this.#limit <= this.#host.clock.monotonic()) {
      this.#silent()
      this.seen()
    }
    if (this.#limit > 0) this.#arm()
  }
}

/** How long a client may stay by what it has proved. */
export class CredentialExpiry {
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
