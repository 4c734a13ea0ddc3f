import { PacketError } from '../packet/packet-error.js'
import * as REASON from '../packet/reason-codes.js'
import type { Holder } from './handler.js'

/** Counts the connections of each principal; connections without a principal are not counted. */
export class Holders {
  readonly #most: number
  readonly #counts = new Map<string, number>()

  /** @param most - connections of one principal */
  constructor(most: number) {
    this.#most = most
  }

  /**
   * Counts a connection. Raises {@link PacketError} when there are as many as there may be.
   *
   * @param replacing - one of them is about to end for this one
   */
  enter(holder: Holder | undefined, replacing: boolean): void {
    if (holder === undefined || holder.id === '') return
    const count = this.#counts.get(holder.id) ?? 0
    if (count - (replacing ? 1 : 0) >= this.#most)
      throw new PacketError(REASON.quotaExceeded, `there are ${this.#most} connections of the same principal`)
    this.#counts.set(holder.id, count + 1)
  }

  leave(holder: Holder | undefined): void {
    if (holder === undefined || holder.id === '') return
    const count = (this.#counts.get(holder.id) ?? 0) - 1
    if (count > 0) this.#counts.set(holder.id, count)
    else this.#counts.delete(holder.id)
  }
}
