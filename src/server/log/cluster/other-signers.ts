import type { Clock } from '../../../core/util/clock.js'
import type { Envelope } from './envelope.js'
import { signedOtherwise } from './errors.js'

/** After this without a message that is signed otherwise all nodes have the key: each sends one in 3 s; ms. */
const QUIET = 15_000
/** After this all nodes should have it, ms: somebody who only wants to keep the log open cannot do so for longer. */
const LONGEST = 60 * 60 * 1000
/** So many are reported by name. */
const MOST = 100

/** Nodes that do not sign with the key of this one, while a log comes to that. */
export class OtherSigners {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #report: (error: unknown) => void
  readonly #nodes = new Set<string>()
  #since: number
  #heardAt: number

  constructor(clock: Pick<Clock, 'monotonic'>, report: (error: unknown) => void) {
    this.#clock = clock
    this.#report = report
    this.#since = clock.monotonic()
    this.#heardAt = this.#since
  }

  /** This node takes part from now on. */
  begin(): void {
    this.#since = this.#clock.monotonic()
    this.#heardAt = this.#since
  }

  /** Whether it is time to say that all sign. @param isFirst - whether anybody may send to the log until then */
  areGone(isFirst: boolean): boolean {
    const now = this.#clock.monotonic()
    return now - this.#heardAt > QUIET || (isFirst && now - this.#since > LONGEST)
  }

  /** A message that is signed otherwise counts. */
  heard({ node }: Envelope, position: number): void {
    this.#heardAt = this.#clock.monotonic()
    if (this.#nodes.has(node) || this.#nodes.size >= MOST) return
    this.#nodes.add(node)
    this.#report(signedOtherwise(node, position))
  }
}
