import { config } from 'rxjs'
import type { Random } from './random.js'

/** Thrown by handlers. Any other error ends the process, as usual. */
class HandlerError extends Error {}

config.onUnhandledError = (error: unknown) => {
  if (!(error instanceof HandlerError)) throw error
}

/** Bounds the reentrant calls of a simulation, as each may cause others. */
const MAX_ACTIONS = 60
const MAX_DEPTH = 3

/** Subscribers that act before their handlers return. */
export class ReentrantHandlers {
  readonly #random: Random
  readonly #chance: number | undefined
  #left = MAX_ACTIONS
  count = 0
  #depth = 0

  /** @param chance - probability that a handler acts; `undefined` draws nothing */
  constructor(random: Random, chance: number | undefined) {
    this.#random = random
    this.#chance = chance
  }

  /** Whether a handler is running: other subscribers may not have been notified yet. */
  get isWithin(): boolean {
    return this.#depth > 0
  }

  stop(): void {
    this.#left = 0
  }

  /** Called at the end of a handler: performs one of these actions, or throws. */
  handle(...actions: readonly [() => void, ...(() => void)[]]): void {
    if (this.#depth >= MAX_DEPTH || this.#left === 0 || !this.#random.chanceOf(this.#chance)) return
    this.#left--
    this.count++
    this.#depth++
    try {
      this.#random.pick([...actions, fail])()
    } finally {
      this.#depth--
    }
  }
}

function fail(): void {
  throw new HandlerError('a handler throws')
}
