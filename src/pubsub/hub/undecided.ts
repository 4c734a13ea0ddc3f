import type { EventRequest } from './event-request.js'
import { MOST_UNDECIDED, MOST_UNDECIDED_BYTES } from './refusals.js'

/** Events of one connection that the application has not decided on, by the ids they are answered with. */
export class Undecided {
  readonly #requests = new Map<bigint, EventRequest>()
  #bytes = 0

  get all(): Iterable<EventRequest> {
    return this.#requests.values()
  }

  has(ackId: bigint): boolean {
    return this.#requests.has(ackId)
  }

  /** Whether there is no room for one more of a size. */
  full(size: number): boolean {
    return this.#requests.size >= MOST_UNDECIDED || this.#bytes + size > MOST_UNDECIDED_BYTES
  }

  add(ackId: bigint, request: EventRequest): void {
    this.#requests.set(ackId, request)
    this.#bytes += request.size
  }

  remove(ackId: bigint): void {
    this.#bytes -= this.#requests.get(ackId)?.size ?? 0
    this.#requests.delete(ackId)
  }
}
