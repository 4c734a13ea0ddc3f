import type { Deadline } from '../../../core/util/deadlines.js'
import type { ConnectionHost } from './connection-host.js'

/**
 * Detects clients that do not send CONNECT or are silent for longer than their keep-alive (MQTT 5.0, section 3.1.2.10).
 */
export class KeepAlive {
  readonly #host: Pick<ConnectionHost<never>, 'clock' | 'timeouts'>
  readonly #onTimeout: () => void
  #deadline: Deadline<() => void> | undefined
  #limitMs = 0
  #lastActivityMs = 0

  /** @param onTimeout - called at each timeout until {@link stop} */
  constructor(host: Pick<ConnectionHost<never>, 'clock' | 'timeouts'>, timeoutMs: number, onTimeout: () => void) {
    this.#host = host
    this.#onTimeout = onTimeout
    this.#deadline = host.timeouts.add(host.clock.monotonic() + timeoutMs, onTimeout)
  }

  recordActivity(): void {
    if (this.#limitMs > 0) this.#lastActivityMs = this.#host.clock.monotonic()
  }

  /** @param limitMs - 0 means unlimited */
  start(limitMs: number): void {
    this.stop()
    this.#limitMs = limitMs
    if (limitMs === 0) return
    this.#lastActivityMs = this.#host.clock.monotonic()
    this.#scheduleCheck()
  }

  stop(): void {
    if (this.#deadline) this.#host.timeouts.remove(this.#deadline)
    this.#deadline = undefined
    this.#limitMs = 0
  }

  #scheduleCheck(): void {
    this.#deadline = this.#host.timeouts.add(this.#lastActivityMs + this.#limitMs, this.#check)
  }

  readonly #check = (): void => {
    if (this.#lastActivityMs + this.#limitMs <= this.#host.clock.monotonic()) {
      this.#onTimeout()
      this.recordActivity()
    }
    if (this.#limitMs > 0) this.#scheduleCheck()
  }
}

export class CredentialExpiry {
  readonly #host: Pick<ConnectionHost<never>, 'clock' | 'timeouts'>
  readonly #onExpired: () => void
  #deadline: Deadline<() => void> | undefined

  constructor(host: Pick<ConnectionHost<never>, 'clock' | 'timeouts'>, onExpired: () => void) {
    this.#host = host
    this.#onExpired = onExpired
  }

  /** @param expiresAt - ms since the Unix epoch; `undefined` means never */
  set(expiresAt: number | undefined): void {
    const { clock, timeouts } = this.#host
    if (this.#deadline) timeouts.remove(this.#deadline)
    this.#deadline =
      expiresAt === undefined ? undefined : timeouts.add(clock.monotonic() + expiresAt - clock.now(), this.#onExpired)
  }
}
