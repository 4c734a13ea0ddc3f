import type { Clock } from '../../../core/util/clock.js'
import { unlessRunning } from '../../../core/util/deferred-tasks.js'
import type { Timeouts } from '../../../core/util/timeouts.js'

/**
 * A memory budget in bytes, shared by all clients of a broker. The budget only counts, and denies a reservation that
 * would exceed the limit.
 *
 * @example
 * ```ts
 * const budget = new BrokerMemoryBudget(1_000_000)
 * if (!budget.tryReserve(payload.length)) reject()
 * ```
 */
export class BrokerMemoryBudget {
  readonly limit: number
  readonly #onExceeded: () => void
  #used = 0

  /** @param onExceeded - called each time the limit is exceeded, from within the call that exceeds it */
  constructor(limit: number, onExceeded: () => void = () => undefined) {
    this.limit = limit
    this.#onExceeded = onExceeded
  }

  get used(): number {
    return this.#used
  }

  get isExceeded(): boolean {
    return this.#used > this.limit
  }

  hasRoomFor(bytes: number): boolean {
    return this.#used + bytes <= this.limit
  }

  /** Reserves bytes unless they would exceed the limit. Returns whether the bytes are reserved. */
  tryReserve(bytes: number): boolean {
    if (!this.hasRoomFor(bytes)) {
      this.#onExceeded()
      return false
    }
    this.#used += bytes
    return true
  }

  /** Counts bytes that are already in use. A negative number releases bytes. */
  adjust(bytes: number): void {
    this.#used += bytes
    if (bytes > 0 && this.isExceeded) this.#onExceeded()
  }

  release(bytes: number): void {
    this.#used -= bytes
  }
}

/** A connection or session that can be ended to free memory. */
export interface Evictable {
  /** The bytes that {@link evict} frees. */
  readonly heldBytes: number
  /** Further bytes that a well-behaved client frees soon. */
  readonly transientBytes: number
  /**
   * The account's name. Items of the account with the highest usage are evicted first. The name is `undefined`
   * before authentication, and such connections are evicted before all others.
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
  readonly budget: BrokerMemoryBudget
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

/**
 * Frees memory when the budget is exhausted. The evictor ends connections first, judged by the memory they hold in
 * addition to their sessions, such as incomplete packets, which clients can send again. If that is not enough, the
 * evictor also counts the transient memory of connections, which a client might keep. Then it ends sessions. Each step
 * starts with the largest item of the account with the highest usage.
 *
 * @example
 * ```ts
 * const evictor = new MemoryEvictor(host, connections, sessions)
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

  constructor(host: MemoryEvictorHost, connections: EvictableCollection, sessions: EvictableCollection) {
    this.#host = host
    this.#connections = connections
    this.#sessions = sessions
  }

  /** Evicts until enough memory is free. Does nothing if the end of an evicted item exceeds the budget again. */
  readonly evict = unlessRunning(() => {
    const now = this.#host.clock.monotonic()
    if (now < this.#failedAt + this.#intervalMs) return
    this.#evictConnections()
    this.#evictLargest(this.#sessions, measureHeld)
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
    this.#evictConnections()
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
    const minBytes = Math.min(maxFloorBytes, (SMALL_ITEMS_SHARE * this.#host.budget.limit) / candidates.size)
    for (const item of largestFirst(candidates, measure, minBytes)) {
      item.evict()
      if (this.#hasEnoughFree) return
    }
  }
}

type Measure = (item: Evictable) => number

const measureHeld: Measure = ({ heldBytes }) => heldBytes
const measureAll: Measure = ({ heldBytes, transientBytes }) => heldBytes + transientBytes

/** Returns the items above `minBytes`, ordered by the usage of their account and then by size, both descending. */
function largestFirst(candidates: EvictableCollection, measure: Measure, minBytes: number): Evictable[] {
  const large: { readonly item: Evictable; readonly bytes: number; readonly accountName: string | undefined }[] = []
  const totals = new Map<string | undefined, number>()
  for (const item of candidates.values()) {
    const bytes = measure(item)
    if (bytes <= minBytes) continue
    const { accountName } = item
    large.push({ item, bytes, accountName })
    totals.set(accountName, (totals.get(accountName) ?? 0) + bytes)
  }
  const rankOf = (accountName: string | undefined): number =>
    accountName === undefined ? Number.MAX_VALUE : (totals.get(accountName) ?? 0)
  return large
    .sort((a, b) => rankOf(b.accountName) - rankOf(a.accountName) || b.bytes - a.bytes)
    .map(({ item }) => item)
}
