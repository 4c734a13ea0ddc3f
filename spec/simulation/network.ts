import type { Random } from './random.js'
import type { VirtualTime } from './virtual-time.js'

/** Faults of the network and the broker. Times in ms, the rest probabilities. */
export interface Conditions {
  latency: number
  /** Delay of messages and SUBSCRIBE in the broker. */
  brokerDelay: number
  /** Additional delay of messages of a resumed session. */
  queueDelay: number
  lostReply: number
  lateReply: number
  duplicate: number
  /** A request gets an odd reply, whether or not it was executed. */
  oddReply?: number
  /** A SUBSCRIBE is rejected transiently. */
  refusedFilter?: number
  /** All messages queued for a kept session are lost. */
  lostQueue?: number
  /** A queued message lacks its subscription identifier. */
  lostIdentifier?: number
  /** Additional delay with which a node applies entries of others. */
  lag?: number
  /** Delay until broker or client notice a dead connection. */
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

/** One TCP connection: data arrives in order, or not at all once it is cut. */
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
