import type { Hlc } from '../../../core/hlc/hlc.js'
import type { CommandResult, EntryResult, KeyChange } from '../../engine/command-result.js'

/** So many positions back it is known; a node that lags behind further is compared by its next entry. */
const REMEMBERED = 4096
/** Of an FNV-1a hash of 32 bits. */
const [BASIS, PRIME] = [0x811c9dc5, 0x01000193]
/** So much of a key or value is looked at, bytes: what they are beyond is the same for all, as it is in the entry. */
const LOOKED_AT = 16

/**
 * A number that rolls over all that came of entries: replies, versions and changes. Nodes that have it the same at a position
 * have come to the same state. It sees what engines made of entries, so that one that errs is found out though the entries
 * are the same.
 */
export class StateDigest {
  readonly #positions = new Float64Array(REMEMBERED).fill(-1)
  readonly #values = new Uint32Array(REMEMBERED)
  #value: number

  constructor(value: number = BASIS, position = 0) {
    this.#value = value
    this.#remember(position)
  }

  /** As it is now. */
  get value(): number {
    return this.#value
  }

  /** Takes in what came of an entry. */
  see(result: EntryResult): void {
    if (result.type === 'answered') this.#answer(result.answer)
    this.#changes(result.changes)
    if (result.type !== 'loaded') return
    const { outcome } = result
    if ('changes' in outcome) this.#number(outcome.versionsKept)
    else this.#text(outcome.code)
  }

  /** What it was at a position, if that is not too long ago. */
  at(position: number): number | undefined {
    const place = position % REMEMBERED
    return this.#positions[place] === position ? this.#values[place] : undefined
  }

  /** All is done that the message at a position has brought, at a time (ms). */
  close(position: number, time: number): void {
    this.#number(position)
    this.#number(time)
    this.#remember(position)
  }

  #answer({ reply, version }: CommandResult): void {
    this.#text(reply.type === 'error' ? reply.code : reply.type)
    if (reply.type === 'count') this.#mix(reply.count)
    if (version !== undefined) this.#version(version)
  }

  #remember(position: number): void {
    const place = position % REMEMBERED
    this.#positions[place] = position
    this.#values[place] = this.#value
  }

  #changes(changes: readonly KeyChange[]): void {
    for (const { key, notification, version } of changes) {
      this.#bytes(key)
      this.#version(version)
      if (notification.op === 'set' && notification.value !== undefined) this.#bytes(notification.value)
      else this.#mix(1)
    }
  }

  #version({ wallClock, counter }: Hlc): void {
    this.#number(wallClock)
    this.#number(counter)
  }

  #number(value: number): void {
    this.#mix(value)
    // What 32 bits do not hold; times do not fit.
    this.#mix(value / 2 ** 32)
  }

  #text(text: string): void {
    for (let i = 0; i < text.length; i++) this.#mix(text.charCodeAt(i))
  }

  #bytes(bytes: Uint8Array): void {
    this.#mix(bytes.length)
    const end = Math.min(bytes.length, LOOKED_AT)
    for (let i = 0; i < end; i++) this.#mix(bytes[i] ?? 0)
  }

  #mix(value: number): void {
    this.#value = Math.imul(this.#value ^ value, PRIME) >>> 0
  }
}
