import type { Random } from '../../../harness/random.js'
import type { VirtualTime } from '../../simulation/worlds/virtual-time.js'

/** Faults of the network and the hub. Times are in ms, and other values are probabilities. */
export interface Conditions {
  latency: number
  /** A connection breaks at a frame, and this frame and all later ones are lost. */
  breakage: number
  /** A connection is refused, or its handshake hangs. */
  refused: number
  hanging: number
  /** The time until the client or the hub detects a broken connection. */
  clientNotice: number
  hubNotice: number
  /** The number of frames in flight to a client above which its link accepts no more. */
  window: number
  /** The application fails to process an event. */
  faulty: number
  /** The time that the application takes to decide on an event. */
  thinking: number
}

/** A network and a hub without faults. */
export const NO_FAULTS: Conditions = {
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

/** The shared state of a simulation. */
export interface SimulationContext {
  readonly time: VirtualTime
  readonly random: Random
  readonly conditions: Conditions
}

/** One direction of a connection, in which frames arrive in order, late or not at all. */
export class Pipe {
  inFlight = 0
  /** Whether frames no longer arrive, without a notification of either side. */
  isDead = false
  hasStalled = false
  readonly #context: SimulationContext
  readonly #broken: () => void
  readonly #drained: () => void
  #last = 0
  #held: (() => void)[] | undefined

  /**
   * @param broken - called when the connection breaks
   * @param drained - called when a frame has arrived
   */
  constructor(context: SimulationContext, broken: () => void, drained: () => void = () => undefined) {
    this.#context = context
    this.#broken = broken
    this.#drained = drained
  }

  push(arrive: () => void): void {
    if (this.isDead) return
    const { time, random, conditions } = this.#context
    this.inFlight++
    this.#last = Math.max(this.#last, time.now + random.int(0, conditions.latency))
    time.after(this.#last - time.now, () => this.#take(arrive))
  }

  /** Delays all frames by `duration` ms, without loss. */
  stall(duration: number): void {
    if (this.#held) return
    this.#held = []
    this.hasStalled = true
    this.#context.time.after(duration, () => this.#release())
  }

  #release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const arrive of held) this.#take(arrive)
  }

  #take(arrive: () => void): void {
    if (this.isDead) return
    if (this.#held) {
      this.#held.push(arrive)
      return
    }
    const { random, conditions } = this.#context
    if (conditions.breakage > 0 && random.chance(conditions.breakage)) {
      this.#broken()
      return
    }
    this.inFlight--
    arrive()
    this.#drained()
  }
}
