import type { Random } from '../../simulation/random.js'
import type { VirtualTime } from '../../simulation/virtual-time.js'

/** How bad the network and the hub are. Times in ms, the rest probabilities. */
export interface Conditions {
  latency: number
  /** A connection breaks at a frame, which is lost with all behind it. */
  breakage: number
  /** A connection is refused; or its handshake never ends. */
  refused: number
  hanging: number
  /** How long until client or hub notice that a connection is broken. */
  clientNotice: number
  hubNotice: number
  /** Frames under way to a client after which its link takes no more. */
  window: number
  /** The application cannot process an event now. */
  faulty: number
  /** How long the application thinks about an event. */
  thinking: number
}

/** A network and a hub that behave. */
export const CALM: Conditions = {
  latency: 2,
  breakage: 0,
  refused: 0,
  hanging: 0,
  clientNotice: 1,
  hubNotice: 1,
  window: Number.POSITIVE_INFINITY,
  faulty: 0,
  thinking: 0,
}

/** What everything in a simulation shares. */
export interface Nature {
  readonly time: VirtualTime
  readonly random: Random
  readonly conditions: Conditions
}

/** One direction of a connection: what is sent arrives in order, late, or not at all. */
export class Pipe {
  /** Frames that have not arrived. */
  underWay = 0
  /** Nothing arrives any more, and nobody is told. */
  dead = false
  /** Whether it has ever kept frames waiting. */
  stalled = false
  readonly #nature: Nature
  readonly #broken: () => void
  readonly #drained: () => void
  #last = 0
  #held: (() => void)[] | undefined

  /**
   * @param broken - the connection breaks here and now
   * @param drained - a frame has arrived
   */
  constructor(nature: Nature, broken: () => void, drained: () => void = () => undefined) {
    this.#nature = nature
    this.#broken = broken
    this.#drained = drained
  }

  push(arrive: () => void): void {
    if (this.dead) return
    const { time, random, conditions } = this.#nature
    this.underWay++
    this.#last = Math.max(this.#last, time.now + random.int(0, conditions.latency))
    time.after(this.#last - time.now, () => this.#take(arrive))
  }

  /** Lets nothing through for a while; nothing is lost. */
  stall(duration: number): void {
    if (this.#held) return
    this.#held = []
    this.stalled = true
    this.#nature.time.after(duration, () => this.#release())
  }

  #release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const arrive of held) this.#take(arrive)
  }

  #take(arrive: () => void): void {
    if (this.dead) return
    if (this.#held) {
      this.#held.push(arrive)
      return
    }
    const { random, conditions } = this.#nature
    if (conditions.breakage > 0 && random.chance(conditions.breakage)) {
      this.#broken()
      return
    }
    this.underWay--
    arrive()
    this.#drained()
  }
}
