import type { Clock } from '../../base/clock.js'
import { isThisMachine, networkOf } from '../../base/network.js'
import { Rates } from '../../base/rates.js'
import { Timeouts } from '../../base/timeouts.js'

/** How much one user may send in a second. */
export interface SenderQuotas {
  readonly maxFrameRatePerUser: number
  readonly maxByteRatePerUser: number
}

/** The network connection of somebody who may have to wait. */
export interface SlowLink {
  /** Takes no more frames for now, or takes them again. */
  slow(slowed: boolean): void
}

/** Makes those wait who send more than they may: each user, and of those without a name each address. */
export class Senders {
  readonly #clock: Clock
  readonly #frames: Rates
  readonly #bytes: Rates
  readonly #timeouts: Timeouts<SlowLink>
  #pauses = 0

  constructor({ maxFrameRatePerUser, maxByteRatePerUser }: SenderQuotas, clock: Clock) {
    this.#clock = clock
    const now = (): number => clock.monotonic()
    this.#frames = new Rates(maxFrameRatePerUser, now)
    this.#bytes = new Rates(maxByteRatePerUser, now)
    this.#timeouts = new Timeouts(clock, link => link.slow(false))
  }

  /** How often somebody was made to wait. */
  get pauses(): number {
    return this.#pauses
  }

  /** What charges a frame to its sender, by its bytes; senders on this machine without a name are not charged. */
  meterOf(userId: string | undefined, address: string, link: SlowLink): (bytes: number) => void {
    if (userId === undefined && isThisMachine(address)) return () => undefined
    const name = userId === undefined ? `at ${networkOf(address)}` : `is ${userId}`
    return bytes => {
      const now = this.#clock.monotonic()
      const [frameRate, byteRate] = [this.#frames.of(name), this.#bytes.of(name)]
      frameRate.charge(1, now)
      byteRate.charge(bytes, now)
      const wait = Math.max(frameRate.wait(now), byteRate.wait(now))
      if (wait === 0) return
      this.#pauses++
      link.slow(true)
      this.#timeouts.add(now + wait, link)
    }
  }
}
