import type { Random } from './random.js'
import type { VirtualTime } from './virtual-time.js'

/** How bad the network and the broker are. Times in ms, the rest probabilities. */
export interface Conditions {
  latency: number
  /** How long the broker keeps a message or a SUBSCRIBE to itself. */
  brokerDelay: number
  /** How much later than new messages those of a resumed session may come. */
  queueDelay: number
  lostReply: number
  lateReply: number
  duplicate: number
  /** A request gets an answer that makes no sense, done or not. */
  oddReply?: number
  /** A SUBSCRIBE is refused for now. */
  refusedFilter?: number
  /** What was queued for a session that was kept is lost, all of it. */
  lostQueue?: number
  /** A queued message has lost the identifier of its subscription. */
  lostIdentifier?: number
  /** How much later than others a node applies what they have appended. */
  lag?: number
  /** How long until broker or client notice that a connection is dead. */
  notice: number
}

/** A network and a broker that behave. */
export const CALM: Conditions = {
  latency: 2,
  brokerDelay: 0,
  queueDelay: 0,
  lostReply: 0,
  lateReply: 0,
  duplicate: 0,
  oddReply: 0,
  refusedFilter: 0,
  lostQueue: 0,
  lostIdentifier: 0,
  lag: 0,
  notice: 1,
}

/** One TCP connection: what is sent arrives in order, or, when it is cut, not at all. */
export class Wire {
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #conditions: Conditions
  #alive = true
  #lastUp = 0
  #lastDown = 0

  constructor(time: VirtualTime, random: Random, conditions: Conditions) {
    this.#time = time
    this.#random = random
    this.#conditions = conditions
  }

  get alive(): boolean {
    return this.#alive
  }

  cut(): void {
    this.#alive = false
  }

  up(arrive: () => void): void {
    this.#lastUp = this.#send(this.#lastUp, arrive)
  }

  down(arrive: () => void): void {
    this.#lastDown = this.#send(this.#lastDown, arrive)
  }

  #send(last: number, arrive: () => void): number {
    const at = Math.max(last, this.#time.now + this.#random.int(0, this.#conditions.latency))
    this.#time.after(at - this.#time.now, () => {
      if (this.#alive) arrive()
    })
    return at
  }
}
