/** Number of unanswered requests up to which a request is sent however little time it has left. */
const MIN_UNANSWERED = 256

/** Returns whether requests wait because of earlier ones. Few say nothing about the store, as one response may be lost. */
export const isBusy = (unanswered: number): boolean => unanswered >= MIN_UNANSWERED

/**
 * Estimates how long responses take. One request at a time is measured, because reading the clock for each would slow
 * pipelined requests down.
 */
export class ResponsePace<T> {
  #measured: T | undefined
  #sentAt = 0
  /** The number of unanswered requests when the measured one was sent. */
  #unanswered = 0
  #msPerRequest = 0
  #roundTrip: number | undefined

  /** Time from sending a recent request until its response arrived, ms; `undefined` before the first of a connection. */
  get roundTrip(): number | undefined {
    return this.#roundTrip
  }

  /** Returns when the response to a further request is expected, monotonic ms. @param now - monotonic ms */
  expectedAt(unanswered: number, now: number): number {
    const msSoFar = this.#measured ? (now - this.#sentAt) / Math.max(this.#unanswered, unanswered) : 0
    return now + unanswered * Math.max(this.#msPerRequest, msSoFar)
  }

  /** @param unanswered - number of unanswered requests, including this one */
  sent(request: T, unanswered: number, now: number): void {
    if (this.#measured !== undefined) return
    this.#measured = request
    this.#sentAt = now
    this.#unanswered = Math.max(MIN_UNANSWERED, unanswered)
  }

  /** @param unanswered - number of unanswered requests, including this one */
  answered(request: T, unanswered: number, now: () => number): void {
    if (request !== this.#measured) return
    this.#roundTrip = now() - this.#sentAt
    // Over a slow link, requests are answered together however many were sent after the measured one.
    this.#msPerRequest = this.#roundTrip / Math.max(this.#unanswered, unanswered)
  }

  ended(request: T): void {
    if (request === this.#measured) this.#measured = undefined
  }

  disconnected(): void {
    this.#measured = undefined
    this.#roundTrip = undefined
    this.#msPerRequest = 0
  }
}
