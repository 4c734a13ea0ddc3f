import type { Hlc } from '../../../core/hlc/hlc.js'
import type { CommandResult, EntryResult, KeyChange } from '../../engine/command-result.js'

/**
 * The number of recent positions whose digest is remembered. A node that lags further behind is compared at its next
 * entry.
 */
const REMEMBERED_POSITIONS = 4096
/** The parameters of the 32-bit FNV-1a hash. */
const [BASIS, PRIME] = [0x811c9dc5, 0x01000193]
/**
 * The number of bytes of a key or value that are hashed. The other bytes come from the entry, which is equal at all
 * nodes.
 */
const MAX_HASHED_BYTES = 16

/**
 * Computes a rolling hash of the results of entries: replies, versions and changes. Nodes with the same digest at a
 * position have the same state. The hash covers results rather than entries, so it also detects a faulty engine.
 */
export class StateDigest {
  readonly #positions = new Float64Array(REMEMBERED_POSITIONS).fill(-1)
  readonly #values = new Uint32Array(REMEMBERED_POSITIONS)
  #value: number

  constructor(value: number = BASIS, position = 0) {
    this.#value = value
    this.#remember(position)
  }

  get value(): number {
    return this.#value
  }

  addResult(result: EntryResult): void {
    if (result.type === 'answered') this.#mixReply(result.answer)
    this.#mixChanges(result.changes)
    if (result.type !== 'loaded') return
    const { outcome } = result
    if ('changes' in outcome) this.#mixNumber(outcome.versionsKept)
    else this.#mixText(outcome.code)
  }

  /** Returns the digest at a position, or `undefined` if it is no longer remembered. */
  at(position: number): number | undefined {
    const slot = position % REMEMBERED_POSITIONS
    return this.#positions[slot] === position ? this.#values[slot] : undefined
  }

  /**
   * Completes a position after all its results were added.
   *
   * @param time - log time, ms
   */
  finishPosition(position: number, time: number): void {
    this.#mixNumber(position)
    this.#mixNumber(time)
    this.#remember(position)
  }

  #mixReply({ reply, version }: CommandResult): void {
    this.#mixText(reply.type === 'error' ? reply.code : reply.type)
    if (reply.type === 'count') this.#mix(reply.count)
    if (version !== undefined) this.#mixVersion(version)
  }

  #remember(position: number): void {
    const slot = position % REMEMBERED_POSITIONS
    this.#positions[slot] = position
    this.#values[slot] = this.#value
  }

  #mixChanges(changes: readonly KeyChange[]): void {
    for (const { key, notification, version } of changes) {
      this.#mixBytes(key)
      this.#mixVersion(version)
      if (notification.op === 'set' && notification.value !== undefined) this.#mixBytes(notification.value)
      else this.#mix(1)
    }
  }

  #mixVersion({ wallClock, counter }: Hlc): void {
    this.#mixNumber(wallClock)
    this.#mixNumber(counter)
  }

  #mixNumber(value: number): void {
    this.#mix(value)
    // Numbers beyond 32 bits, such as times, also have an upper half.
    this.#mix(value / 2 ** 32)
  }

  #mixText(text: string): void {
    for (let i = 0; i < text.length; i++) this.#mix(text.charCodeAt(i))
  }

  #mixBytes(bytes: Uint8Array): void {
    this.#mix(bytes.length)
    const end = Math.min(bytes.length, MAX_HASHED_BYTES)
    for (let i = 0; i < end; i++) this.#mix(bytes[i] ?? 0)
  }

  #mix(value: number): void {
    this.#value = Math.imul(this.#value ^ value, PRIME) >>> 0
  }
}
