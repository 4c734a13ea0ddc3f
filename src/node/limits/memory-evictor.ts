import type { Clock } from '../../core/util/clock.js'
import { unlessRunning } from '../../core/util/deferred-tasks.js'
import type { Timeouts } from '../../core/util/timeouts.js'
import type { MemoryBudget } from './memory-budget.js'

/** A connection or session that can be ended to free memory. */
export interface Evictable {
  /** The bytes that {@link evict} frees. */
  readonly heldBytes: number
  /** Further bytes that a well-behaved client frees soon. */
  readonly transientBytes: number
  /**
   * The account's name. Items of the account with the highest usage are evicted first. The name is `undefined` before
   * authentication, and such connections are evicted before all others. The name is empty for an item without an
   * account.
   */
  readonly accountName: string | undefined
  evict(): void
}

export interface EvictableCollection {
  readonly size: number
  values(): Iterable<Evictable>
}

export interface MemoryEvictorHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
  readonly budget: MemoryBudget
  /**
   * Discards expired data until enough memory is free. Returns whether expired data is left, because there is too much
   * of it for one call. Default: nothing expires.
   */
  discardExpired?(hasEnoughFree: () => boolean): boolean
}

/**
 * The minimum time in ms between scheduled runs, and after an eviction that did not free enough. The time grows by 1 ms
 * per `ITEMS_PER_MS` connections and sessions.
 */
const BASE_INTERVAL_MS = 10
const ITEMS_PER_MS = 500
/**
 * The share of the budget that is free after a run. It keeps runs rare, because each run inspects every connection.
 */
const FREE_TARGET_SHARE = 1 / 8
/** The size below which evicting an item is not worthwhile. */
const MIN_EVICTED_BYTES = 64 * 1024
/** The limit in bytes on the transient memory of a well-behaved client. */
const USUAL_TRANSIENT_BYTES = 256 * 1024
/** The share of the budget that small items may hold together. With many small items, the threshold is lower. */
const SMALL_ITEMS_SHARE = 1 / 2
/** The share of the budget above which the small items of an account are evicted as well. */
const HEAVY_ACCOUNT_SHARE = 1 / 8

/** The connections of a server whose sessions hold all memory. */
const NO_CONNECTIONS: EvictableCollection = new Set()

/**
 * Frees memory when the budget is exhausted. The evictor ends connections first, judged by the memory they hold in
 * addition to their sessions, such as incomplete packets, which clients can send again. If that is not enough, the
 * evictor also counts the transient memory of connections, which a client might keep. Then it ends sessions. Each
 * eviction ends the largest item of the account with the highest usage at that time.
 *
 * @example
 * ```ts
 * const evictor = new MemoryEvictor(host, sessions, connections)
 * if (budget.isExceeded) evictor.evict()
 * ```
 */
export class MemoryEvictor {
  readonly #host: MemoryEvictorHost
  readonly #connections: EvictableCollection
  readonly #sessions: EvictableCollection
  /** The time of the latest eviction that did not free enough, in ms of the monotonic clock. */
  #failedAt = Number.NEGATIVE_INFINITY
  /** The time of the latest scheduled run, in ms of the monotonic clock. */
  #lastRunAt = Number.NEGATIVE_INFINITY
  #isScheduled = false

  constructor(host: MemoryEvictorHost, sessions: EvictableCollection, connections = NO_CONNECTIONS) {
    this.#host = host
    this.#connections = connections
    this.#sessions = sessions
  }

  /** Evicts until enough memory is free. Does nothing if the end of an evicted item exceeds the budget again. */
  readonly evict = unlessRunning(() => {
    const now = this.#host.clock.monotonic()
    if (now < this.#failedAt + this.#intervalMs) return
    // No client is ended for memory that only expired data holds.
    const hasExpiredLeft = this.#host.discardExpired?.(() => this.#hasEnoughFree) === true
    if (!hasExpiredLeft) {
      this.#evictConnections()
      this.#evictLargest(this.#sessions, measureHeld)
    }
    if (this.#host.budget.isExceeded) this.#failedAt = now
  })

  /**
   * Schedules an eviction of connections. It runs later, and spares sessions, because the caller may be using one of
   * them.
   */
  scheduleEviction(): void {
    if (this.#isScheduled || this.#hasEnoughFree) return
    this.#isScheduled = true
    const { clock, timeouts } = this.#host
    timeouts.add(Math.max(clock.monotonic(), this.#lastRunAt + this.#intervalMs), this.#runScheduled)
  }

  readonly #runScheduled = (): void => {
    this.#isScheduled = false
    this.#lastRunAt = this.#host.clock.monotonic()
    if (this.#host.discardExpired?.(() => this.#hasEnoughFree) !== true) this.#evictConnections()
  }

  #evictConnections(): void {
    this.#evictLargest(this.#connections, measureHeld)
    this.#evictLargest(this.#connections, measureAll, USUAL_TRANSIENT_BYTES)
  }

  get #intervalMs(): number {
    return BASE_INTERVAL_MS + Math.floor((this.#connections.size + this.#sessions.size) / ITEMS_PER_MS)
  }

  get #hasEnoughFree(): boolean {
    const { used, limit } = this.#host.budget
    return used <= (1 - FREE_TARGET_SHARE) * limit
  }

  #evictLargest(candidates: EvictableCollection, measure: Measure, maxFloorBytes = MIN_EVICTED_BYTES): void {
    if (this.#hasEnoughFree) return
    const { limit } = this.#host.budget
    const minBytes = Math.min(maxFloorBytes, (SMALL_ITEMS_SHARE * limit) / candidates.size)
    for (const item of heaviestFirst(candidates, measure, minBytes, HEAVY_ACCOUNT_SHARE * limit)) {
      item.evict()
      if (this.#hasEnoughFree) return
    }
  }
}

type Measure = (item: Evictable) => number

const measureHeld: Measure = ({ heldBytes }) => heldBytes
const measureAll: Measure = ({ heldBytes, transientBytes }) => heldBytes + transientBytes

interface Measured {
  readonly item: Evictable
  readonly bytes: number
}

/**
 * Returns the items above `minBytes`, and all items of accounts that use more than `heavyBytes`, so that many small
 * items weigh as much as one large item. The order is that of evictions: each is the largest item of the account that
 * then has the highest usage.
 */
function heaviestFirst(
  candidates: EvictableCollection,
  measure: Measure,
  minBytes: number,
  heavyBytes: number,
): Evictable[] {
  const accounts = new Map<string | undefined, Measured[]>()
  for (const item of candidates.values()) {
    const bytes = measure(item)
    if (bytes <= 0) continue
    const items = accounts.get(item.accountName)
    if (items) items.push({ item, bytes })
    else accounts.set(item.accountName, [{ item, bytes }])
  }
  return Array.from(accounts, ([name, items]) => evictableOf(name, items, minBytes, heavyBytes))
    .flat()
    .sort((a, b) => b.usage - a.usage || b.bytes - a.bytes)
    .map(({ item }) => item)
}

/** Returns the items of an account that may be evicted, each with the usage of the account without the larger items. */
function evictableOf(name: string | undefined, items: Measured[], minBytes: number, heavyBytes: number) {
  const total = items.reduce((sum, { bytes }) => sum + bytes, 0)
  const floor = name && total > heavyBytes ? 0 : minBytes
  let usage = name === undefined ? Number.MAX_VALUE : total
  return items
    .sort((a, b) => b.bytes - a.bytes)
    .filter(({ bytes }) => bytes > floor)
    .map(({ item, bytes }) => {
      const ranked = { item, bytes, usage }
      usage -= bytes
      return ranked
    })
}
