import type { Clock } from '../../core/util/clock.js'
import type { Deadline } from '../../core/util/deadlines.js'
import { Timeouts } from '../../core/util/timeouts.js'

/**
 * The maximum number of writes that await the store. The client sends four times as many, so that the watches of the
 * bridge and other callers of the client do not wait for them.
 */
const MAX_RUNNING = 1_000

interface Turn {
  readonly owner: string
  /** Starts the write, which may take until the deadline. */
  readonly begin: (timeoutMs: number) => void
  readonly expired: () => void
}

/**
 * Passes writes to the store, a limited number at a time. Users take turns, and the writes of a user keep their order.
 * A write that gets no turn in time expires.
 */
export class WriteTurns {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #timeouts: Timeouts<Turn>
  /** The waiting writes by owner. The owner whose turn is next comes first. */
  readonly #waiting = new Map<string, Map<Turn, Deadline<Turn>>>()
  #running = 0
  #isStarting = false

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#timeouts = new Timeouts(clock, turn => {
      this.#stopWaiting(turn)
      turn.expired()
    })
  }

  /** Queues a write. Returns a function that ends its turn, or drops a write that still waits. */
  add(turn: Turn): () => void {
    let isRunning = false
    let hasEnded = false
    const waiting: Turn = {
      ...turn,
      begin: timeoutMs => {
        isRunning = true
        turn.begin(timeoutMs)
      },
    }
    const ofOwner = this.#waiting.get(turn.owner) ?? new Map<Turn, Deadline<Turn>>()
    this.#waiting.set(turn.owner, ofOwner)
    ofOwner.set(waiting, this.#timeouts.add(this.#clock.monotonic() + this.#timeoutMs, waiting))
    this.#start()
    return () => {
      if (hasEnded) return
      hasEnded = true
      if (isRunning) this.#running--
      else this.#stopWaiting(waiting)
      this.#start()
    }
  }

  #start(): void {
    // A write may end synchronously, and the outer loop then starts the next one.
    if (this.#isStarting) return
    this.#isStarting = true
    try {
      while (this.#running < MAX_RUNNING && this.#startNext());
    } finally {
      this.#isStarting = false
    }
  }

  #startNext(): boolean {
    const [owner, turns] = this.#waiting.entries().next().value ?? []
    const [turn, deadline] = turns?.entries().next().value ?? []
    if (owner === undefined || turns === undefined || turn === undefined || deadline === undefined) return false
    this.#stopWaiting(turn)
    this.#waiting.delete(owner)
    if (turns.size > 0) this.#waiting.set(owner, turns)
    this.#running++
    turn.begin(Math.max(1, Math.ceil(deadline.at - this.#clock.monotonic())))
    return true
  }

  #stopWaiting(turn: Turn): void {
    const turns = this.#waiting.get(turn.owner)
    const deadline = turns?.get(turn)
    if (turns === undefined || deadline === undefined) return
    this.#timeouts.remove(deadline)
    turns.delete(turn)
    if (turns.size === 0) this.#waiting.delete(turn.owner)
  }
}
