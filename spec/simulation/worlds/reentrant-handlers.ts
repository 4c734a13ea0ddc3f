import { config } from 'rxjs'
import type { Random } from '../../../harness/random.js'

/** The error that handlers throw. Any other error ends the process, as usual. */
class HandlerError extends Error {}

config.onUnhandledError = (error: unknown) => {
  if (!(error instanceof HandlerError)) throw error
}

/** The maximum number of reentrant calls in a simulation, each of which may cause others. */
const MAX_ACTIONS = 60
const MAX_DEPTH = 3

/** The reentrant handlers of subscribers, which act before the handlers return. */
export class ReentrantHandlers {
  readonly #random: Random
  readonly #chance: number | undefined
  #left = MAX_ACTIONS
  count = 0
  #depth = 0

  /** @param chance - the probability that a handler acts; `undefined` draws nothing */
  constructor(random: Random, chance: number | undefined) {
    this.#random = random
    this.#chance = chance
  }

  /** Whether a handler is running, so that other subscribers may not have been notified yet. */
  get isWithin(): boolean {
    return this.#depth > 0
  }

  stop(): void {
    this.#left = 0
  }

  /** Called at the end of a handler. Performs one of the given actions, or throws. */
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
