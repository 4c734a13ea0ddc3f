import { fromBinaryString } from '../bytes.js'
import { type Deadline, DeadlineQueue } from '../deadlines.js'
import type { StoredRecord } from './apply.js'
import { KeyOrder } from './key-order.js'

/** A record, and where else its key is noted. */
interface Slot extends StoredRecord {
  /** Its place in the order in which keys came. */
  readonly number: number
  readonly deadline: Deadline<string> | undefined
}

/**
 * What the store holds: a record for each key, the order in which keys came, and when they expire. A key is kept as a
 * binary string alone, which takes a fifth of the memory of a small byte array.
 */
export class Records {
  /** All keys in the order they came. */
  readonly order: KeyOrder<string> = new KeyOrder()
  readonly #slots = new Map<string, Slot>()
  readonly #expiries = new DeadlineQueue<string>()
  #keyspace = 0

  /** Number of keys. */
  get size(): number {
    return this.#slots.size
  }

  /** How often a key was made or removed. */
  get keyspace(): number {
    return this.#keyspace
  }

  /** When the next key expires, ms since the Unix epoch. */
  get nextDeadline(): number | undefined {
    return this.#expiries.peek()?.at
  }

  /** @param id - the key as a binary string, here and below */
  get(id: string): StoredRecord | undefined {
    return this.#slots.get(id)
  }

  /** Keeps a copy of the value: a request's is a view of a network buffer that may be much larger. */
  put(id: string, { value, version, fencingToken, expiresAt }: StoredRecord): void {
    const old = this.#slots.get(id)
    if (old?.deadline) this.#expiries.remove(old.deadline)
    if (old === undefined) this.#keyspace++
    const deadline = expiresAt === undefined ? undefined : this.#expiries.add(expiresAt, id)
    const number = old?.number ?? this.order.add(id)
    this.#slots.set(id, { value: new Uint8Array(value), version, fencingToken, expiresAt, number, deadline })
  }

  /** Whether there was such a key. */
  remove(id: string): boolean {
    const slot = this.#slots.get(id)
    if (slot === undefined) return false
    if (slot.deadline) this.#expiries.remove(slot.deadline)
    this.#slots.delete(id)
    this.order.remove(slot.number)
    this.#keyspace++
    return true
  }

  /** Removes a key that is due at `now` (ms), if there is one, and returns it. */
  removeDue(now: number): Uint8Array | undefined {
    const id = this.#expiries.takeDue(now)
    if (id === undefined) return undefined
    this.remove(id)
    return fromBinaryString(id)
  }

  /** All keys as binary strings. */
  ids(): Iterable<string> {
    return this.#slots.keys()
  }

  /** All keys and their records. */
  *entries(): Iterable<readonly [key: Uint8Array, record: StoredRecord]> {
    for (const [id, record] of this.#slots) yield [fromBinaryString(id), record]
  }
}
