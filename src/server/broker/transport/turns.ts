import { afterIo, type Clock } from '../../../core/util/clock.js'
import { Fifo } from '../../../core/util/fifo.js'

/** Work of a connection; returns whether some is left when its time is over. */
export type Work = (until: number) => boolean

/** What connections may take of one turn of the event loop together, and each of them at once when many wait, ms. */
const TURN = 8
const SHORTEST_SLICE = 0.25

/**
 * Shares the process between connections. Each turn of the event loop has some time for them; whoever has more to do than
 * fits into its slice, or comes when the turn is used up, goes on in a later turn, after all who came before. So a client
 * that floods the broker slows down itself, and nobody else by more than its slice.
 */
export class Turns {
  readonly #clock: Clock
  readonly #waiting = new Fifo<Work>()
  /** Of this turn, and of those before that used next to nothing, ms. */
  #used = 0
  #scheduled = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Does work, now or when its turn comes; returns whether it is done already. */
  begin(work: Work): boolean {
    const done = this.#used < TURN && !this.#run(work)
    if (!done) this.#waiting.push(work)
    // Being told of the end of a turn costs as much as a small piece of work: many of them count as one turn.
    if (!done || this.#used > SHORTEST_SLICE) this.#schedule()
    return done
  }

  /** Does one slice; returns whether there is more. */
  #run(work: Work): boolean {
    const start = this.#clock.monotonic()
    const left = work(start + Math.max(SHORTEST_SLICE, TURN / (1 + this.#waiting.length)))
    this.#used += this.#clock.monotonic() - start
    return left
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    afterIo(this.#turn)
  }

  readonly #turn = (): void => {
    this.#scheduled = false
    this.#used = 0
    // Once each: what is left goes to the end.
    for (let count = this.#waiting.length; count > 0 && this.#used < TURN; count--) {
      const work = this.#waiting.shift()
      if (work !== undefined && this.#run(work)) this.#waiting.push(work)
    }
    if (this.#waiting.length > 0) this.#schedule()
  }
}
