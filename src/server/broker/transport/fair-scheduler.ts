import { afterIo, type Clock } from '../../../core/util/clock.js'
import { Fifo } from '../../../core/util/collections.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'

/** Work of a connection; returns whether some is left when its time is over. */
export type Work = (deadlineMs: number) => boolean

/** What connections may take of one turn of the event loop together, and each of them at once when many wait, ms. */
const TURN_MS = 8
const MIN_SLICE_MS = 0.25

/**
 * Shares the process between connections. Each turn of the event loop has some time for them; whoever has more to do than
 * fits into its slice, or comes when the turn is used up, goes on in a later turn, after all who came before. So a client
 * that floods the broker slows down itself, and nobody else by more than its slice.
 */
export class FairScheduler {
  readonly #clock: Clock
  readonly #waiting = new Fifo<Work>()
  /** Of this turn, and of those before that used next to nothing, ms. */
  #usedMs = 0
  #isScheduled = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Does work, now or when its turn comes; returns whether it is done already. */
  run(work: Work): boolean {
    const isDone = this.#usedMs < TURN_MS && !this.#runSlice(work)
    if (!isDone) this.#waiting.push(work)
    // Being told of the end of a turn costs as much as a small piece of work: many of them count as one turn.
    if (!isDone || this.#usedMs > MIN_SLICE_MS) this.#scheduleTurn()
    return isDone
  }

  /** Does one slice; returns whether there is more. */
  #runSlice(work: Work): boolean {
    const start = this.#clock.monotonic()
    const hasMore = work(start + Math.max(MIN_SLICE_MS, TURN_MS / (1 + this.#waiting.length)))
    this.#usedMs += this.#clock.monotonic() - start
    return hasMore
  }

  #scheduleTurn(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    afterIo(this.#runTurn)
  }

  readonly #runTurn = (): void => {
    this.#isScheduled = false
    this.#usedMs = 0
    // Once each: what is left goes to the end.
    for (let count = this.#waiting.length; count > 0 && this.#usedMs < TURN_MS; count--) {
      const work = this.#waiting.shift()
      if (work !== undefined && this.#runSlice(work)) this.#waiting.push(work)
    }
    if (this.#waiting.length > 0) this.#scheduleTurn()
  }
}

/** What a tempo needs of its keeper. */
export interface ReadThrottleHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
}

/** A longer pause is made of several: a client that is not read is not to look silent, ms. */
const MAX_PAUSE_MS = 1_000
/** A pause is longer than it has to be, by so many ms and up to as many more, or there would be one for each packet. */
const EXTRA_PAUSE_MS = 10
/** Its multiples are spread evenly: whose pause is the shortest is somebody else each time. */
const GOLDEN_RATIO = 0.618_033_988_749_895

/** Makes a connection that is faster than it may be wait: nothing of it is read, and so its client is slowed down. */
export class ReadThrottle {
  /** Packets since they were charged last. */
  packets = 0
  /** Likewise. */
  bytes = 0
  readonly #host: ReadThrottleHost
  readonly #rateAccounts: readonly QuotaAccount[]
  readonly #onResume: (pausedMs: number) => void
  #pause: Deadline<() => void> | undefined

  /**
   * @param rateAccounts - what it is charged to besides its own account
   * @param onResume - a pause is over, which took so many ms
   */
  constructor(host: ReadThrottleHost, rateAccounts: readonly QuotaAccount[], onResume: (pausedMs: number) => void) {
    this.#host = host
    this.#rateAccounts = rateAccounts
    this.#onResume = onResume
    // So that none of them is forgotten, and made anew for the next, while it slows this one.
    for (const account of rateAccounts) account.connections.adjust(1)
  }

  /** Whether there is a pause. */
  get isPausing(): boolean {
    return this.#pause !== undefined
  }

  /**
   * How many packets may be taken before they are charged, besides those that came before it was known to whom; `Infinity`
   * for one to whom nothing is charged.
   */
  packetAllowance(account: QuotaAccount | undefined): number {
    if (account === undefined && this.#rateAccounts.length === 0) return Number.POSITIVE_INFINITY
    const now = this.#host.clock.monotonic()
    let allowance = account?.packetAllowance(now) ?? Number.POSITIVE_INFINITY
    for (const account of this.#rateAccounts) allowance = Math.min(allowance, account.packetAllowance(now))
    return allowance - this.packets
  }

  /** Charges what came since the last time; returns whether there is to be a pause. */
  chargeAndPause(account: QuotaAccount | undefined): boolean {
    // Most stores have one user, on this machine, to whom nothing is charged.
    if (account === undefined && this.#rateAccounts.length === 0) return false
    const { clock, timeouts } = this.#host
    const now = clock.monotonic()
    let waitMs = account === undefined ? 0 : account.charge(this.packets, this.bytes, now)
    for (const account of this.#rateAccounts) waitMs = Math.max(waitMs, account.charge(this.packets, this.bytes, now))
    this.packets = 0
    this.bytes = 0
    if (waitMs === 0) return false
    for (const rateAccount of this.#rateAccounts) rateAccount.recordPause()
    account?.recordPause()
    const pauses = (account ?? this.#rateAccounts[0])?.pauses ?? 0
    const extraMs = EXTRA_PAUSE_MS * (1 + ((GOLDEN_RATIO * pauses) % 1))
    this.#pause = timeouts.add(now + Math.min(waitMs + extraMs, MAX_PAUSE_MS), () => {
      this.#pause = undefined
      this.#onResume(clock.monotonic() - now)
    })
    return true
  }

  /** The connection is gone; to be called once. */
  stop(): void {
    if (this.#pause) this.#host.timeouts.remove(this.#pause)
    this.#pause = undefined
    for (const account of this.#rateAccounts) account.connections.release()
  }
}
