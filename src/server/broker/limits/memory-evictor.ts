import type { Clock } from '../../../core/util/clock.js'
import type { Timeouts } from '../../../core/util/timeouts.js'

/**
 * Memory that all clients of a broker share, in bytes: what waits to be sent or acknowledged, what is retained, packets
 * that are not complete. It is an account, not an allocator: who asks for more than there is has to do without.
 *
 * @example
 * ```ts
 * const budget = new Budget(1_000_000)
 * if (!budget.take(payload.length)) refuse()
 * ```
 */
export class BrokerMemoryBudget {
  /** Bytes there are. */
  readonly limit: number
  readonly #onExceeded: () => void
  #used = 0

  /**
   * @param limit - bytes
   * @param onExceeded - called, while it is used, whenever there was not enough
   */
  constructor(limit: number, onExceeded: () => void = () => undefined) {
    this.limit = limit
    this.#onExceeded = onExceeded
  }

  /** Bytes that are taken. */
  get used(): number {
    return this.#used
  }

  /** Whether more is taken than there is. */
  get isExceeded(): boolean {
    return this.#used > this.limit
  }

  /** Takes bytes if there are as many. */
  tryReserve(bytes: number): boolean {
    if (this.#used + bytes > this.limit) {
      this.#onExceeded()
      return false
    }
    this.#used += bytes
    return true
  }

  /** Counts bytes that are taken already, or, negative, given back. */
  adjust(bytes: number): void {
    this.#used += bytes
    if (bytes > 0 && this.isExceeded) this.#onExceeded()
  }

  /** Gives bytes back. */
  release(bytes: number): void {
    this.#used -= bytes
  }
}

/** What holds memory and can be ended for it. */
export interface Evictable {
  /** What it holds, bytes. */
  readonly heldBytes: number
  /** What it has besides that will be done with soon if its client does what it should, bytes. */
  readonly transientBytes: number
  /** Whose it is: who has more than others makes room first. `undefined` for somebody who is not let in, who does before all. */
  readonly accountName: string | undefined
  /** Ends it, which gives back what it holds. */
  evict(): void
}

/** All of one kind that hold memory: a map or a set. */
export interface EvictableCollection {
  readonly size: number
  values(): Iterable<Evictable>
}

/** Whose memory it is. */
export interface MemoryEvictorHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
  readonly budget: BrokerMemoryBudget
}

/** When it could not make enough room, it looks again after so many ms, and one more for so many that it looks at. */
const BASE_INTERVAL_MS = 10
const ITEMS_PER_MS = 500
/** Of all the memory there is, so much is free afterwards: to look at all takes time. */
const FREE_TARGET_SHARE = 1 / 8
/** With what holds less, bytes, not much would be gained. */
const MIN_EVICTED_BYTES = 64 * 1024
/** What is under way with less, bytes, is what a client that sends and reads as it should has at times. */
const USUAL_TRANSIENT_BYTES = 256 * 1024
/** But all together those hold no more than this part of all there is: where there are many, one is worth less. */
const SMALL_ITEMS_SHARE = 1 / 2

/**
 * Makes room when the memory of a broker is used up. Connections end first, for what they hold besides their sessions, such as
 * packets that are not complete: their clients can say it again. Where that is not enough what is under way counts as well, as
 * somebody may leave it there. Then sessions end. Of each kind those of whoever has most, the largest first, until there is
 * room.
 *
 * @example
 * ```ts
 * const relief = new Relief(host, connections, sessions)
 * if (budget.exceeded) relief.make()
 * ```
 */
export class MemoryEvictor {
  readonly #host: MemoryEvictorHost
  readonly #connections: EvictableCollection
  readonly #sessions: EvictableCollection
  /** When it did not suffice, ms of the monotonic clock. */
  #failedAt = Number.NEGATIVE_INFINITY
  /** Connections were looked through, likewise; and are to be again. */
  #lastRunAt = Number.NEGATIVE_INFINITY
  #isScheduled = false

  constructor(host: MemoryEvictorHost, connections: EvictableCollection, sessions: EvictableCollection) {
    this.#host = host
    this.#connections = connections
    this.#sessions = sessions
  }

  /** Makes room, now. */
  evict(): void {
    const now = this.#host.clock.monotonic()
    if (now < this.#failedAt + this.#intervalMs) return
    this.#evictConnections()
    this.#evictLargest(this.#sessions, measureHeld)
    if (this.#host.budget.isExceeded) this.#failedAt = now
  }

  /** Makes room as far as no session has to end for it; not while somebody is about to use it. */
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

/** Those that hold more than so many bytes, those of whoever has most first, and of each the largest. */
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
