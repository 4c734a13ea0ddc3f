import type { Budget } from './budget.js'

/** A session as far as its memory goes. */
export interface Burden {
  /** What waits in it to be sent or acknowledged, bytes. */
  readonly outbox: { readonly bytes: number }
}

/** When it could not make enough room, it looks again after so many ms. */
const INTERVAL = 10
/** Of all the memory there is, so much is free afterwards: to look at all sessions takes time. */
const FREE = 1 / 8
/** With a session that holds less, bytes, not much would be gained. */
const WORTH_ENDING = 64 * 1024
/** But all together those hold no more than this part of all there is: where there are many, a session is worth less. */
const SMALL_SHARE = 1 / 2

/**
 * Makes room when the memory of a broker is used up: sessions end, those that hold most first, until there is some.
 *
 * @example
 * ```ts
 * const relief = new Relief(budget, session => end(session))
 * if (budget.exceeded) relief.make(sessions, clock.monotonic())
 * ```
 */
export class Relief<S extends Burden> {
  readonly #budget: Budget
  readonly #end: (session: S) => void
  /** When it did not suffice, ms of the monotonic clock. */
  #failedAt = Number.NEGATIVE_INFINITY

  /** @param end - ends a session, which gives back what it holds */
  constructor(budget: Budget, end: (session: S) => void) {
    this.#budget = budget
    this.#end = end
  }

  /** Makes room at monotonic time `now` (ms). */
  make(sessions: ReadonlyMap<unknown, S>, now: number): void {
    if (now < this.#failedAt + INTERVAL) return
    const { limit } = this.#budget
    const least = Math.min(WORTH_ENDING, (SMALL_SHARE * limit) / sessions.size)
    for (const session of fattest(sessions.values(), least)) {
      if (this.#budget.used <= (1 - FREE) * limit) return
      this.#end(session)
    }
    if (this.#budget.exceeded) this.#failedAt = now
  }
}

/** Sessions that hold more than so many bytes, those with most first. */
const fattest = <S extends Burden>(sessions: Iterable<S>, least: number): S[] =>
  Array.from(sessions)
    .filter(({ outbox }) => outbox.bytes > least)
    .sort((a, b) => b.outbox.bytes - a.outbox.bytes)
