import { config } from 'rxjs'
import type { Random } from './random.js'

/** Thrown by handlers; an error of anybody's else ends the process, as ever. */
class Mishap extends Error {}

config.onUnhandledError = (error: unknown) => {
  if (!(error instanceof Mishap)) throw error
}

/** So many handlers do something in a simulation: what they do makes others do something. */
const MOST = 60
/** How deep they are in one another. */
const DEEPEST = 3

/** Subscribers that do something before their handlers return. */
export class CallingBack {
  readonly #random: Random
  readonly #chance: number | undefined
  #left = MOST
  /** How often something was done. */
  count = 0
  #depth = 0

  /** @param chance - that a handler does something; none draws nothing */
  constructor(random: Random, chance: number | undefined) {
    this.#random = random
    this.#chance = chance
  }

  /** Whether it is within a handler that something is done: others may not have been told yet. */
  get isWithin(): boolean {
    return this.#depth > 0
  }

  /** From now on nothing more is done. */
  stop(): void {
    this.#left = 0
  }

  /** The end of a handler, which may do one of these, or throw. */
  handle(...actions: readonly [() => void, ...(() => void)[]]): void {
    if (this.#depth >= DEEPEST || this.#left === 0 || !this.#random.might(this.#chance)) return
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
  throw new Mishap('a handler throws')
}
