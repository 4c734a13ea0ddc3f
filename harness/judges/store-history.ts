import { isDeepStrictEqual } from 'node:util'
import { type Change, History } from './history.js'
import {
  isRecorded,
  type JournalLine,
  type JournalledEnd,
  type JournalledWrite,
  type KeyRecord,
  type RecoveredKey,
  type RecoveredKeys,
} from './journal.js'
import { partsOf } from './values.js'
import type { Violations } from './violations.js'

/**
 * How long an expired key may exist in a store that has just started, in ms. The store deletes such keys first, but its
 * process may wait for the CPU.
 */
const MAX_OVERDUE_MS = 500

/** How many times a request reached a store, was certainly applied, and was answered again. */
export interface RequestTally {
  reached: number
  applied: number
  repeated: number
}

export interface Request {
  readonly client: string
  readonly verb: string
  readonly key: string
  readonly value: string
}

/** Returns the name of a request. A client may repeat a request. */
export const requestName = ({ client, verb, key, value }: Request): string => `${client} ${verb} ${key} ${value}`

/** The changes and requests of all stores, according to their journals. */
export class StoreHistory {
  readonly changes = new History()
  readonly requests = new Map<string, RequestTally>()
  /** How often each key was found missing without an acknowledged deletion. */
  readonly losses = new Map<string, number>()
  readonly #violations: Violations
  readonly #isLate: (value: string) => boolean
  /** The record of each version. */
  readonly #records = new Map<string, KeyRecord>()
  /** The newest value number of each writer. */
  readonly #newest = new Map<string, number>()

  /**
   * @param isLate - whether a value may arrive after later values of its writer, because its request was abandoned and
   * delayed in transit
   */
  constructor(violations: Violations, isLate: (value: string) => boolean = () => false) {
    this.#violations = violations
    this.#isLate = isLate
  }

  add(line: JournalLine): void {
    if (line.type === 'write') this.#addWrite(line)
    else if (line.type === 'recovered') this.#compareRecovered(line)
    else if (!this.changes.recordVersion(line.key, line.version)) this.#addExpiry(line)
  }

  /** Starts another store, which has no keys. */
  startInstance(): void {
    this.changes.instance++
  }

  #addWrite(write: JournalledWrite): void {
    const { at, earliest, verb, key, value, condition, outcome, isRepeated, record } = write
    const tally = this.#tallyOf(write)
    // The response may belong to a request that the previous store only applied before it was killed.
    if (isRepeated) {
      tally.repeated++
      return
    }
    tally.reached++
    if (verb === 'SET' && condition !== 'NEX') this.#checkOrder(value)
    const last = this.changes.lastOf(key)
    const existing = last?.op === 'set' ? last : undefined
    if (record !== undefined) {
      tally.applied++
      if (existing && (condition === 'NX' || (condition === 'NEX' && existing.value !== value)))
        this.#violations.add('store', `a condition held against ${JSON.stringify(existing)}`)
      this.#addSet({ key, value, ...record }, at, earliest)
    } else if (verb !== 'SET' && outcome === 'count' && existing)
      this.changes.record({ key, op: 'delete', value: undefined, version: undefined }, at, earliest)
  }

  #addSet({ key, value, ...record }: RecoveredKey, at: number, earliest?: number): void {
    this.#records.set(record.version, record)
    this.changes.record({ key, op: 'set', value, version: record.version }, at, earliest)
  }

  #addExpiry({ at, earliest, time, key, version }: JournalledEnd): void {
    const last = this.changes.lastOf(key)
    if (!this.#hasExpired(last, time))
      this.#violations.add('store', `${key} expired although it was ${JSON.stringify(last)}`)
    this.changes.record({ key, op: 'delete', value: undefined, version }, at, earliest)
  }

  /**
   * Compares the keys that a store recovered with the previous store, which may have applied more than it answered. In
   * that case, the client has a request with an unknown outcome. Otherwise the difference is a violation.
   */
  #compareRecovered({ at, time, keys }: RecoveredKeys): void {
    const recovered = new Map(keys.map(found => [found.key, found]))
    for (const key of new Set([...recovered.keys(), ...this.changes.keys])) {
      const found = recovered.get(key)
      const last = this.changes.lastOf(key)
      if (found !== undefined) {
        if (last?.version === found.version) this.#compareRecord(found, last)
        else this.#addUnanswered(found, at)
        const overdue = time - (found.expiresAt ?? time)
        if (overdue > MAX_OVERDUE_MS)
          this.#violations.add('recovered', `${key} was recovered ${overdue} ms after its expiry`)
      } else if (last?.op === 'set') {
        if (isRecorded(key) && !this.#hasExpired(last, time)) this.losses.set(key, (this.losses.get(key) ?? 0) + 1)
        this.changes.record({ key, op: 'delete', value: undefined, version: undefined }, at)
      }
    }
  }

  #addUnanswered(found: RecoveredKey, at: number): void {
    const tally = this.#tallyOf({ ...found, client: partsOf(found.value).client, verb: 'SET' })
    tally.reached++
    tally.applied++
    this.#addSet(found, at)
  }

  /** Checks that a key is as it was before the store was killed. */
  #compareRecord({ key, value, ...record }: RecoveredKey, last: Change): void {
    const before = { value: last.value, ...this.#records.get(record.version) }
    const after = { value, ...record }
    if (!isDeepStrictEqual(after, before))
      this.#violations.add('recovered', `${key} is ${JSON.stringify(after)}, and was ${JSON.stringify(before)}`)
  }

  #hasExpired(change: Change | undefined, time: number): boolean {
    const { expiresAt = Number.POSITIVE_INFINITY } = this.#records.get(change?.version ?? '') ?? {}
    return expiresAt <= time
  }

  #tallyOf(request: Request): RequestTally {
    const name = requestName(request)
    const tally = this.requests.get(name) ?? { reached: 0, applied: 0, repeated: 0 }
    if (isRecorded(request.key)) this.requests.set(name, tally)
    return tally
  }

  /** Checks that the requests of a writer arrive in order. */
  #checkOrder(value: string): void {
    const { writer, number } = partsOf(value)
    const newest = this.#newest.get(writer) ?? -1
    if (number <= newest && !this.#isLate(value))
      this.#violations.add('order of writes', `${value} arrived after number ${newest}`)
    this.#newest.set(writer, Math.max(number, newest))
  }
}
