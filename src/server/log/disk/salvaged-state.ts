import type { State, StateRecord, StateTaker } from '../../engine/state.js'
import { decodeBlock, type StateHead } from '../state-codec.js'

const NOTHING: Uint8Array = new Uint8Array(0)

/** Takes the blocks of a snapshot of which some are missing. */
export class SalvagedState {
  /** Of the records that were taken. */
  readonly ids = new Set<string>()
  readonly #taker: StateTaker
  #head: StateHead | undefined
  #older: Uint8Array | undefined
  #younger: Uint8Array | undefined
  #isEnded = false
  #lastNumber = 0
  #version: State['version'] | undefined

  constructor(taker: StateTaker) {
    this.#taker = taker
  }

  /** Returns whether its last block was taken. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Returns whether all records were taken, and all else. */
  get isComplete(): boolean {
    return this.#head?.size === this.ids.size && this.#older !== undefined && this.#younger !== undefined
  }

  take(block: Uint8Array): void {
    const part = decodeBlock(block)
    if (part.kind === 'head') this.#head = part
    else if (part.kind === 'older') this.#older = part.bytes
    else if (part.kind === 'younger') this.#younger = part.bytes
    else if (part.kind === 'end') this.#isEnded = true
    else if (part.kind === 'records') for (const record of part.records) this.#put(record)
  }

  /** Goes on with what was taken; says what is missing. */
  resume(): { readonly hasReplies: boolean; readonly lostKeys: number | undefined } {
    const hasReplies = this.#older !== undefined && this.#younger !== undefined
    const version = newest(this.#head?.version, this.#version)
    if (version !== undefined) {
      this.#taker.resume({
        born: this.#head?.born,
        version,
        lastNumber: Math.max(this.#head?.lastNumber ?? 0, this.#lastNumber),
        // One of the two without the other would forget what came between.
        answered: hasReplies ? [this.#older ?? NOTHING, this.#younger ?? NOTHING] : [NOTHING, NOTHING],
      })
    }
    return { hasReplies, lostKeys: this.#head && this.#head.size - this.ids.size }
  }

  #put(record: StateRecord): void {
    this.#taker.putBack(record)
    this.ids.add(record.id)
    this.#lastNumber = record.number
    this.#version = newest(this.#version, record.version)
  }
}

const newest = (a: State['version'] | undefined, b: State['version'] | undefined): State['version'] | undefined =>
  a === undefined || (b !== undefined && b.compareTo(a) > 0) ? b : a
