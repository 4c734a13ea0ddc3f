import type { Random } from '../../../harness/random.js'
import type { VirtualTime } from './virtual-time.js'

/** The faults of the network and the broker. Times are in milliseconds, and all other values are probabilities. */
export interface Conditions {
  latency: number
  /** The delay of messages and SUBSCRIBE in the broker. */
  brokerDelay: number
  /** The additional delay of messages of a resumed session. */
  queueDelay: number
  lostReply: number
  lateReply: number
  duplicate: number
  /** The probability that a request gets an odd reply, whether or not the request was executed. */
  oddReply?: number
  /** The probability that a SUBSCRIBE is rejected transiently. */
  refusedFilter?: number
  /** The probability that all messages queued for a kept session are lost. */
  lostQueue?: number
  /** The probability that a queued message lacks its subscription identifier. */
  lostIdentifier?: number
  /** The additional delay with which a node applies entries of other nodes. */
  lag?: number
  /** The delay until the broker or the client notices a dead connection. */
  notice: number
}

export const FAULTLESS: Conditions = {
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

/** One TCP connection. Data arrives in order, or not at all after the connection is cut. */
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
