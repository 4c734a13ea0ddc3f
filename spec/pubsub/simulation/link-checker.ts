import type { PubSubStatus } from '../../../src/pubsub/client/events.js'
import { CLOSE } from '../../../src/pubsub/hub/hub-link.js'
import type { VirtualTime } from '../../simulation/worlds/virtual-time.js'
import type { SimulationContext } from './pipe.js'
import type { SimHub } from './sim-hub.js'
import type { Wire } from './wire.js'

/**
 * Checks a client's link for any ping behaviour of the hub. A dead link is dropped in time, a live link
 * is kept while the hub answers anything, and a hub that ends a session because of a ping gets no further pings.
 */
export class LinkChecker {
  readonly #time: VirtualTime
  readonly #hub: SimHub
  /** The time within which a dead link must be dropped, ms. */
  readonly #noticeMs: number
  readonly #complain: (what: string) => void
  #wire: Wire | undefined
  #isConnected = false
  /** The time at which the link last seemed alive or the client could not act, in ms. */
  #lastAliveAt = 0
  #thawsAt = Number.NEGATIVE_INFINITY
  #refusals = 0

  constructor({ time }: SimulationContext, hub: SimHub, noticeMs: number, complain: (what: string) => void) {
    this.#time = time
    this.#hub = hub
    this.#noticeMs = noticeMs
    this.#complain = complain
  }

  opened(wire: Wire): void {
    this.#wire = wire
  }

  onFrame(): void {
    this.#lastAliveAt = this.#time.now
  }

  /** Called when the client is frozen for `duration` ms. */
  onFrozen(duration: number): void {
    this.#thawsAt = this.#time.now + duration
  }

  /** Called when the peer closes a socket that the client had not dropped. */
  onClosed(code: number): void {
    if (code === CLOSE.malformed && ++this.#refusals > 1) this.#complain('sent a ping to a hub that had refused one')
  }

  note(status: PubSubStatus): void {
    if (status.state === 'connected') this.#lastAliveAt = this.#time.now
    if (status.state !== 'connected') this.judge()
    if (this.#isConnected && status.state === 'recovering' && /stopped responding/.test(status.cause.message)) {
      this.#judgeDistrust()
    }
    this.#isConnected = status.state === 'connected'
  }

  judge(): void {
    const { deadSince } = this.#wire ?? {}
    if (!this.#isConnected || deadSince === undefined) return
    const late = this.#time.now - Math.max(deadSince, this.#lastAliveAt, this.#thawsAt) - this.#noticeMs
    if (late > 0) this.#complain(`found out ${late} ms too late that its link was dead`)
  }

  #judgeDistrust(): void {
    if (this.#hub.signs === 'none') return
    const wire = this.#wire
    if (wire === undefined || wire.deadSince !== undefined || wire.up.hasStalled || wire.down.hasStalled) return
    // A response may have waited while the client was frozen.
    if (this.#time.now - this.#thawsAt > this.#noticeMs) this.#complain('gave up a link that was alive')
  }
}
