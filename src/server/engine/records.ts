import type { Hlc } from '../../core/hlc/hlc.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import { fromBinaryString } from '../../core/util/bytes.js'
import { type Deadline, DeadlineQueue } from '../../core/util/deadlines.js'
import { StringMap } from '../../core/util/string-map.js'
import type { StoredRecord } from './apply.js'
import type { Owner, StorageLimits } from './entry.js'
import { KeyOrder } from './key-order.js'

export interface IndexedRecord extends StoredRecord {
  /** The key as a binary string. */
  readonly id: string
  readonly number: number
  readonly deadline: Deadline<string> | undefined
}

/** The heap in bytes that a record takes in addition to its key and value, rounded up. */
const RECORD_OVERHEAD_BYTES = 600
/** The encoded size of a record in addition to its key and value. */
const STORED_OVERHEAD_BYTES = 80

export const recordBytes = (
  id: string,
  { value, fencingToken }: Pick<StoredRecord, 'value' | 'fencingToken'>,
): number => RECORD_OVERHEAD_BYTES + id.length + value.length + (fencingToken?.nodeId.length ?? 0)

/**
 * Keeps the store's records, their insertion order and their expiries. Keys are binary strings, because a binary
 * string takes a fifth of the memory of a small `Uint8Array`.
 */
export class Records {
  readonly order: KeyOrder<string> = new KeyOrder()
  readonly usage = new UsageByOwner()
  readonly #byId = new StringMap<IndexedRecord>()
  readonly #expiries = new DeadlineQueue<string>()
  #keyspace = 0
  #bytes = 0
  #expiredUntil = Number.NEGATIVE_INFINITY

  get size(): number {
    return this.#byId.size
  }

  get bytes(): number {
    return this.#bytes
  }

  get keyspace(): number {
    return this.#keyspace
  }

  /** The earliest expiry of any key, in ms since the Unix epoch. */
  get nextDeadline(): number | undefined {
    return this.#expiries.peek()?.at
  }

  /**
   * The time in ms since the Unix epoch until which all keys have expired although some of them are not removed yet, or
   * `-Infinity` if none of them remains. Such keys count as absent, even if the clock is set back.
   */
  get expiredUntil(): number {
    return this.#expiredUntil
  }

  /** Returns whether keys must be removed at `now` (ms). */
  isExpiryDue(now: number): boolean {
    return this.#expiries.earliest <= Math.max(now, this.#expiredUntil)
  }

  /** Returns whether keys must be removed at `now` (ms), possibly more than `limit`. */
  mayExceed(limit: number, now: number): boolean {
    return this.#expiries.size > limit && this.isExpiryDue(now)
  }

  /**
   * Returns a key's record.
   *
   * @param id - key as a binary string, also in the methods below
   */
  get(id: string): IndexedRecord | undefined {
    const record = this.#byId.get(id)
    return record === undefined || this.#hasExpired(record) ? undefined : record
  }

  /** Returns whether a key has expired but is not removed yet. */
  isExpired(id: string): boolean {
    const record = this.#byId.get(id)
    return record !== undefined && this.#hasExpired(record)
  }

  /**
   * Stores a copy of the value, because a request's value is a view of a network buffer that may be much larger.
   *
   * @param old - the current record, if known to the caller
   */
  put(id: string, record: StoredRecord, old = this.#byId.get(id)): void {
    const { value, version, fencingToken, expiresAt, volatile, owner } = record
    this.#removeDeadline(old)
    if (old === undefined) this.#keyspace++
    else this.#subtract(old)
    const number = old?.number ?? this.order.add(id)
    const deadline = expiresAt === undefined ? undefined : this.#expiries.add(expiresAt, id, number)
    const copy = new Uint8Array(value)
    this.#insert({ id, value: copy, version, fencingToken, expiresAt, volatile, owner, number, deadline })
  }

  /** Restores an absent key with its number. The numbers must ascend. Keeps the value without copying it. */
  restoreRecord({ id, value, version, fencingToken, expiresAt, volatile, owner, number }: StateRecord): void {
    this.order.addAt(number, id)
    const deadline = expiresAt === undefined ? undefined : this.#expiries.add(expiresAt, id, number)
    this.#insert({ id, value, version, fencingToken, expiresAt, volatile, owner, number, deadline })
  }

  /** Returns all current records in insertion order. Later changes do not affect the result. */
  capture(): readonly IndexedRecord[] {
    const records = Array.from(this.#byId.values())
    // StringMap yields long keys last, so the records may be out of order.
    for (let at = 1; at < records.length; at++)
      if ((records[at]?.number ?? 0) < (records[at - 1]?.number ?? 0))
        return records.sort((a, b) => a.number - b.number)
    return records
  }

  /** Returns the ids of volatile keys in insertion order. */
  volatileIds(): string[] {
    const records: IndexedRecord[] = []
    for (const record of this.#byId.values()) if (record.volatile) records.push(record)
    return records.sort((a, b) => a.number - b.number).map(({ id }) => id)
  }

  /** Removes a key. Returns whether it existed. */
  remove(id: string): boolean {
    const removed = this.#byId.get(id)
    if (removed === undefined) return false
    this.#removeDeadline(removed)
    this.#byId.delete(id)
    this.order.remove(removed.number)
    this.#keyspace++
    this.#subtract(removed)
    return true
  }

  /**
   * Removes the keys that expired by `now` (ms), at most `limit` of them. Returns them sorted by expiry and then by
   * number, because the order must not depend on how this node reached its state. The other expired keys remain until
   * later calls. See {@link expiredUntil}.
   */
  removeExpired(now: number, limit = Number.POSITIVE_INFINITY): Uint8Array[] {
    const until = Math.max(now, this.#expiredUntil)
    const removed: Uint8Array[] = []
    while (removed.length < limit) {
      const id = this.#expiries.takeDue(until)
      if (id === undefined) break
      this.remove(id)
      removed.push(fromBinaryString(id))
    }
    this.restoreExpiredUntil(until)
    return removed
  }

  /** Sets {@link expiredUntil}, for a state that was captured with it. */
  restoreExpiredUntil(time: number): void {
    this.#expiredUntil = this.#expiries.earliest <= time ? time : Number.NEGATIVE_INFINITY
  }

  ids(): Iterable<string> {
    return this.#byId.keys()
  }

  get stateSize(): number {
    return this.#bytes - this.size * (RECORD_OVERHEAD_BYTES - STORED_OVERHEAD_BYTES)
  }

  *entries(): Iterable<readonly [key: Uint8Array, record: StoredRecord]> {
    for (const [id, record] of this.#byId) if (!this.#hasExpired(record)) yield [fromBinaryString(id), record]
  }

  // A state that was captured without expired keys has no `expiredUntil`, so it must end with the last of these keys.
  #removeDeadline(record: IndexedRecord | undefined): void {
    if (record?.deadline === undefined) return
    this.#expiries.remove(record.deadline)
    if (this.#expiredUntil !== Number.NEGATIVE_INFINITY) this.restoreExpiredUntil(this.#expiredUntil)
  }

  #hasExpired({ expiresAt }: StoredRecord): boolean {
    return expiresAt !== undefined && expiresAt <= this.#expiredUntil
  }

  #insert(record: IndexedRecord): void {
    const bytes = recordBytes(record.id, record)
    this.#byId.set(record.id, record)
    this.#bytes += bytes
    if (record.owner !== undefined) this.usage.add(record.owner, bytes)
  }

  #subtract(record: IndexedRecord): void {
    const bytes = recordBytes(record.id, record)
    this.#bytes -= bytes
    if (record.owner !== undefined) this.usage.remove(record.owner, bytes)
  }
}

export interface Replacement {
  /** The key as a binary string. */
  readonly id: string
  readonly before: StoredRecord | undefined
  readonly after: StoredRecord
}

/**
 * Throws {@link CommandError} (`quota-exceeded`) if a record exceeds the limits of the store or its owner's quota.
 * Replacing a record by a smaller record always succeeds.
 */
export function checkQuota(
  records: Records,
  replacement: Replacement,
  limits: StorageLimits,
  owner: Owner | undefined,
): void {
  const { before } = replacement
  checkLimits(records.size, records.bytes, before, replacement, limits)
  if (owner === undefined) return
  const ownedBefore = before?.owner === owner.id ? before : undefined
  const { keys, bytes } = records.usage.of(owner.id)
  checkLimits(keys, bytes, ownedBefore, replacement, owner)
}

function checkLimits(
  keys: number,
  bytes: number,
  before: StoredRecord | undefined,
  { id, after }: Replacement,
  { maxKeys, maxBytes }: StorageLimits,
): void {
  const addedBytes = recordBytes(id, after) - (before === undefined ? 0 : recordBytes(id, before))
  const isFull = before === undefined && keys >= maxKeys
  if (isFull || (addedBytes > 0 && bytes + addedBytes > maxBytes)) throw new CommandError('quota-exceeded')
}

export interface OwnerUsage {
  readonly keys: number
  readonly bytes: number
}

const NO_USAGE: OwnerUsage = { keys: 0, bytes: 0 }

/** Computes the usage per owner from the records, so that equal states have equal usage. */
export class UsageByOwner {
  readonly #usage = new Map<string, { keys: number; bytes: number }>()

  of(owner: string): OwnerUsage {
    return this.#usage.get(owner) ?? NO_USAGE
  }

  entries(): Iterable<readonly [owner: string, usage: OwnerUsage]> {
    return this.#usage
  }

  add(owner: string, bytes: number): void {
    const usage = this.#usage.get(owner)
    if (usage === undefined) {
      this.#usage.set(owner, { keys: 1, bytes })
      return
    }
    usage.keys++
    usage.bytes += bytes
  }

  /** Subtracts a key that was deleted or has another owner now. */
  remove(owner: string, bytes: number): void {
    const usage = this.#usage.get(owner)
    if (usage === undefined) return
    usage.keys--
    usage.bytes -= bytes
    if (usage.keys === 0) this.#usage.delete(owner)
  }
}

export interface StateRecord extends StoredRecord {
  /** The key as a binary string. */
  readonly id: string
  readonly number: number
}

/** An immutable copy of the store's state, without registrations. Equal entries give equal states. */
export interface State {
  /** The time of the first entry in ms, which distinguishes this store from earlier stores at the same address. */
  readonly createdAt: number | undefined
  readonly version: Hlc
  readonly lastNumber: number
  /** See {@link Records.expiredUntil}. `undefined` if all expired keys are removed. */
  readonly expiredUntil?: number | undefined
  /** The replies to recent writes, the older generation first. See `ReplyCache`. */
  readonly replies: readonly [Uint8Array, Uint8Array]
  /** The records in ascending order of their numbers. */
  readonly records: Iterable<StateRecord>
  readonly size: number
}

/** Restores a state key by key, so that the state is never in memory twice. */
export interface StateLoader {
  /** Restores the next record, in ascending order of numbers, and keeps its value without copying it. */
  restoreRecord(record: StateRecord): void
  /** Restores the remaining state. Must be called last. */
  finishRestore(rest: Omit<State, 'records' | 'size'>): void
}
