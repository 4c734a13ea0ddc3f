import type { Hlc } from '../../core/hlc/hlc.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import { fromBinaryString } from '../../core/util/bytes.js'
import { type Deadline, DeadlineQueue } from '../../core/util/deadlines.js'
import { StringMap } from '../../core/util/string-map.js'
import type { StoredRecord } from './apply.js'
import type { Owner, Room } from './entry.js'
import { KeyOrder } from './key-order.js'

/** A record, and where else its key is noted. */
export interface IndexedRecord extends StoredRecord {
  /** Its key as a binary string. */
  readonly id: string
  /** Its place in the order in which keys came. */
  readonly number: number
  readonly deadline: Deadline<string> | undefined
}

/** What a record takes besides its key and its value, bytes, rounded up. */
const OVERHEAD = 600
/** What it takes besides them when it is written, bytes. */
const STORED_OVERHEAD = 80

/** What a record takes, bytes. */
export const costOf = (id: string, { value, fencingToken }: Pick<StoredRecord, 'value' | 'fencingToken'>): number =>
  OVERHEAD + id.length + value.length + (fencingToken?.nodeId.length ?? 0)

/**
 * What the store holds: a record for each key, the order in which keys came, and when they expire. A key is kept as a
 * binary string alone, which takes a fifth of the memory of a small byte array.
 */
export class Records {
  /** All keys in the order they came. */
  readonly order: KeyOrder<string> = new KeyOrder()
  /** What of it is whose. */
  readonly shares = new UsageByOwner()
  readonly #slots = new StringMap<IndexedRecord>()
  readonly #expiries = new DeadlineQueue<string>()
  #keyspace = 0
  #bytes = 0

  /** Number of keys. */
  get size(): number {
    return this.#slots.size
  }

  /** What all records take, bytes. */
  get bytes(): number {
    return this.#bytes
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
  get(id: string): IndexedRecord | undefined {
    return this.#slots.get(id)
  }

  /**
   * Keeps a copy of the value: a request's is a view of a network buffer that may be much larger.
   *
   * @param old - what is there of the key, if somebody has looked
   */
  put(id: string, record: StoredRecord, old = this.#slots.get(id)): void {
    const { value, version, fencingToken, expiresAt, volatile, owner } = record
    if (old?.deadline) this.#expiries.remove(old.deadline)
    if (old === undefined) this.#keyspace++
    else this.#discount(old)
    const deadline = expiresAt === undefined ? undefined : this.#expiries.add(expiresAt, id)
    const number = old?.number ?? this.order.add(id)
    const copy = new Uint8Array(value)
    this.#keep({ id, value: copy, version, fencingToken, expiresAt, volatile, owner, number, deadline })
  }

  /** Puts back a key that is not there with the number it had; numbers must rise. Keeps the value itself. */
  putBack({ id, value, version, fencingToken, expiresAt, volatile, owner, number }: StateRecord): void {
    this.order.addAt(number, id)
    const deadline = expiresAt === undefined ? undefined : this.#expiries.add(expiresAt, id)
    this.#keep({ id, value, version, fencingToken, expiresAt, volatile, owner, number, deadline })
  }

  /** All records as they are now, in the order of their keys; they stay so whatever changes later. */
  capture(): readonly IndexedRecord[] {
    const slots = Array.from(this.#slots.values())
    // Long keys come after all others.
    for (let at = 1; at < slots.length; at++)
      if ((slots[at]?.number ?? 0) < (slots[at - 1]?.number ?? 0)) return slots.sort((a, b) => a.number - b.number)
    return slots
  }

  /** The keys that are not to outlive this start of the store, in the order they came. */
  volatileIds(): string[] {
    const slots: IndexedRecord[] = []
    for (const slot of this.#slots.values()) if (slot.volatile) slots.push(slot)
    return slots.sort((a, b) => a.number - b.number).map(({ id }) => id)
  }

  /** Whether there was such a key. */
  remove(id: string): boolean {
    const slot = this.#slots.get(id)
    if (slot === undefined) return false
    if (slot.deadline) this.#expiries.remove(slot.deadline)
    this.#slots.delete(id)
    this.order.remove(slot.number)
    this.#keyspace++
    this.#discount(slot)
    return true
  }

  /**
   * Removes the keys that are due at `now` (ms) and returns them by the end of their time, and by number where that is one:
   * never by how they came to be here.
   */
  removeDue(now: number): Uint8Array[] {
    const due: IndexedRecord[] = []
    for (let id = this.#expiries.takeDue(now); id !== undefined; id = this.#expiries.takeDue(now)) {
      const slot = this.#slots.get(id)
      if (slot !== undefined) due.push(slot)
      this.remove(id)
    }
    due.sort((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0) || a.number - b.number)
    return due.map(({ id }) => fromBinaryString(id))
  }

  /** All keys as binary strings. */
  ids(): Iterable<string> {
    return this.#slots.keys()
  }

  /** What they take as bytes, roughly. */
  get stateSize(): number {
    return this.#bytes - this.size * (OVERHEAD - STORED_OVERHEAD)
  }

  /** All keys and their records. */
  *entries(): Iterable<readonly [key: Uint8Array, record: StoredRecord]> {
    for (const [id, record] of this.#slots) yield [fromBinaryString(id), record]
  }

  #keep(slot: IndexedRecord): void {
    const bytes = costOf(slot.id, slot)
    this.#slots.set(slot.id, slot)
    this.#bytes += bytes
    if (slot.owner !== undefined) this.shares.add(slot.owner, bytes)
  }

  #discount(slot: IndexedRecord): void {
    const bytes = costOf(slot.id, slot)
    this.#bytes -= bytes
    if (slot.owner !== undefined) this.shares.remove(slot.owner, bytes)
  }
}

/** What a SET makes of a record. */
export interface Replacement {
  /** The key as a binary string. */
  readonly id: string
  readonly before: StoredRecord | undefined
  readonly after: StoredRecord
}

/**
 * Raises {@link CommandError} (`quota-exceeded`) when there is no room for a record, in the store or in what is its
 * writer's. Less in place of more is always taken.
 */
export function checkQuota(records: Records, replacement: Replacement, room: Room, owner: Owner | undefined): void {
  const { before } = replacement
  check(records.size, records.bytes, before, replacement, room)
  if (owner === undefined) return
  const own = before?.owner === owner.id ? before : undefined
  const { keys, bytes } = records.shares.of(owner.id)
  check(keys, bytes, own, replacement, owner)
}

function check(
  keys: number,
  bytes: number,
  before: StoredRecord | undefined,
  { id, after }: Replacement,
  { maxKeys, maxBytes }: Room,
): void {
  const more = costOf(id, after) - (before === undefined ? 0 : costOf(id, before))
  const isFull = before === undefined && keys >= maxKeys
  if (isFull || (more > 0 && bytes + more > maxBytes)) throw new CommandError('quota-exceeded')
}

/** What of a store one owner has. */
export interface Share {
  readonly keys: number
  /** Bytes. */
  readonly bytes: number
}

const NOTHING: Share = { keys: 0, bytes: 0 }

/** Counts what is whose. It follows from the records, so that equal states have equal shares. */
export class UsageByOwner {
  readonly #shares = new Map<string, { keys: number; bytes: number }>()

  /** What an owner has. */
  of(owner: string): Share {
    return this.#shares.get(owner) ?? NOTHING
  }

  /** Owners, and what each has. */
  entries(): Iterable<readonly [owner: string, share: Share]> {
    return this.#shares
  }

  /** A key is an owner's from now on. */
  add(owner: string, bytes: number): void {
    const share = this.#shares.get(owner)
    if (share === undefined) {
      this.#shares.set(owner, { keys: 1, bytes })
      return
    }
    share.keys++
    share.bytes += bytes
  }

  /** A key of an owner is gone, or somebody else's. */
  remove(owner: string, bytes: number): void {
    const share = this.#shares.get(owner)
    if (share === undefined) return
    share.keys--
    share.bytes -= bytes
    if (share.keys === 0) this.#shares.delete(owner)
  }
}

/** A record and its key. */
export interface StateRecord extends StoredRecord {
  /** The key as a binary string. */
  readonly id: string
  /** Its place in the order in which keys came. */
  readonly number: number
}

/**
 * All that a store knows but who watches what, at one moment; it stays so whatever the store does then. Equal entries make
 * equal states.
 */
export interface State {
  /** Time of the first request, ms; tells this store from the one that had its place before. */
  readonly born: number | undefined
  /** The newest version there is. */
  readonly version: Hlc
  /** The greatest number that a key was given. */
  readonly lastNumber: number
  /** Answers to the last writes: an older generation and a younger one, see `AnsweredWrites`. */
  readonly answered: readonly [Uint8Array, Uint8Array]
  /** By number. */
  readonly records: Iterable<StateRecord>
  readonly size: number
}

/** Takes a state back, key by key, so that it is never there twice. */
export interface StateTaker {
  /** Takes the record of the next key, by number, and keeps its value itself. */
  putBack(record: StateRecord): void
  /** Takes all that the state is besides; it is whole then. */
  resume(rest: Omit<State, 'records' | 'size'>): void
}
