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
  readonly #short: () => void
  #used = 0

  /**
   * @param limit - bytes
   * @param short - called, while it is used, whenever there was not enough
   */
  constructor(limit: number, short: () => void = () => undefined) {
    this.limit = limit
    this.#short = short
  }

  /** Bytes that are taken. */
  get used(): number {
    return this.#used
  }

  /** Whether more is taken than there is. */
  get exceeded(): boolean {
    return this.#used > this.limit
  }

  /** Takes bytes if there are as many. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) {
      this.#short()
      return false
    }
    this.#used += bytes
    return true
  }

  /** Counts bytes that are taken already, or, negative, given back. */
  count(bytes: number): void {
    this.#used += bytes
    if (bytes > 0 && this.exceeded) this.#short()
  }

  /** Gives bytes back. */
  give(bytes: number): void {
    this.#used -= bytes
  }
}

/** What holds memory and can be ended for it. */
export interface Evictable {
  /** What it holds, bytes. */
  readonly held: number
  /** What it has besides that will be done with soon if its client does what it should, bytes. */
  readonly underway: number
  /** Whose it is: who has more than others makes room first. `undefined` for somebody who is not let in, who does before all. */
  readonly owner: string | undefined
  /** Ends it, which gives back what it holds. */
  giveUp(): void
}

/** All of one kind that hold memory: a map or a set. */
export interface Burdens {
  readonly size: number
  values(): Iterable<Evictable>
}

/** Whose memory it is. */
export interface ReliefHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
  readonly budget: BrokerMemoryBudget
}

/** When it could not make enough room, it looks again after so many ms, and one more for so many that it looks at. */
const INTERVAL = 10
const LOOKED_AT_IN_MS = 500
/** Of all the memory there is, so much is free afterwards: to look at all takes time. */
const FREE = 1 / 8
/** With what holds less, bytes, not much would be gained. */
const WORTH_ENDING = 64 * 1024
/** What is under way with less, bytes, is what a client that sends and reads as it should has at times. */
const USUAL = 256 * 1024
/** But all together those hold no more than this part of all there is: where there are many, one is worth less. */
const SMALL_SHARE = 1 / 2

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
  readonly #host: ReliefHost
  readonly #connections: Burdens
  readonly #sessions: Burdens
  /** When it did not suffice, ms of the monotonic clock. */
  #failedAt = Number.NEGATIVE_INFINITY
  /** Connections were looked through, likewise; and are to be again. */
  #cutAt = Number.NEGATIVE_INFINITY
  #due = false

  constructor(host: ReliefHost, connections: Burdens, sessions: Burdens) {
    this.#host = host
    this.#connections = connections
    this.#sessions = sessions
  }

  /** Makes room, now. */
  make(): void {
    const now = this.#host.clock.monotonic()
    if (now < this.#failedAt + this.#interval) return
    this.#cutSome()
    this.#free(this.#sessions, heldBy)
    if (this.#host.budget.exceeded) this.#failedAt = now
  }

  /** Makes room as far as no session has to end for it; not while somebody is about to use it. */
  soon(): void {
    if (this.#due || this.#done) return
    this.#due = true
    const { clock, timeouts } = this.#host
    timeouts.add(Math.max(clock.monotonic(), this.#cutAt + this.#interval), this.#cut)
  }

  readonly #cut = (): void => {
    this.#due = false
    this.#cutAt = this.#host.clock.monotonic()
    this.#cutSome()
  }

  #cutSome(): void {
    this.#free(this.#connections, heldBy)
    this.#free(this.#connections, allOf, USUAL)
  }

  get #interval(): number {
    return INTERVAL + Math.floor((this.#connections.size + this.#sessions.size) / LOOKED_AT_IN_MS)
  }

  get #done(): boolean {
    const { used, limit } = this.#host.budget
    return used <= (1 - FREE) * limit
  }

  #free(burdens: Burdens, weigh: Weigh, worth = WORTH_ENDING): void {
    if (this.#done) return
    const least = Math.min(worth, (SMALL_SHARE * this.#host.budget.limit) / burdens.size)
    for (const burden of heaviest(burdens, weigh, least)) {
      burden.giveUp()
      if (this.#done) return
    }
  }
}

type Weigh = (burden: Evictable) => number

const heldBy: Weigh = ({ held }) => held
const allOf: Weigh = ({ held, underway }) => held + underway

/** Those that hold more than so many bytes, those of whoever has most first, and of each the largest. */
function heaviest(burdens: Burdens, weigh: Weigh, least: number): Evictable[] {
  const heavy: { readonly burden: Evictable; readonly held: number; readonly owner: string | undefined }[] = []
  const totals = new Map<string | undefined, number>()
  for (const burden of burdens.values()) {
    const held = weigh(burden)
    if (held <= least) continue
    const { owner } = burden
    heavy.push({ burden, held, owner })
    totals.set(owner, (totals.get(owner) ?? 0) + held)
  }
  const rankOf = (owner: string | undefined): number =>
    owner === undefined ? Number.MAX_VALUE : (totals.get(owner) ?? 0)
  return heavy.sort((a, b) => rankOf(b.owner) - rankOf(a.owner) || b.held - a.held).map(({ burden }) => burden)
}
