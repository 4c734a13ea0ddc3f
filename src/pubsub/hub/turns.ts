import { afterIo } from '../../clock.js'

/** Something with an end to each turn of the event loop in which it had to do. */
export interface Turn {
  endTurn(): void
}

/** Tells everybody who had to do in a turn of the event loop when it is over, with one task for all of them. */
export class Turns {
  #busy: Turn[] = []

  /** Asks for `endTurn` once; to be called once per turn. */
  add(turn: Turn): void {
    this.#busy.push(turn)
    if (this.#busy.length === 1) afterIo(() => this.#end())
  }

  #end(): void {
    const busy = this.#busy
    this.#busy = []
    for (const turn of busy) turn.endTurn()
  }
}
