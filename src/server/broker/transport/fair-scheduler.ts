import { afterIo, type Clock } from '../../../core/util/clock.js'
import { Fifo } from '../../../core/util/collections.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { QuotaAccount } from '../limits/quota-accounts.js'

/** Work of a connection; returns whether some is left when its time is over. */
export type Work = (until: number) => boolean

/** What connections may take of one turn of the event loop together, and each of them at once when many wait, ms. */
const TURN = 8
const SHORTEST_SLICE = 0.25

/**
 * Shares the process between connections. Each turn of the event loop has some time for them; whoever has more to do than
 * fits into its slice, or comes when the turn is used up, goes on in a later turn, after all who came before. So a client
 * that floods the broker slows down itself, and nobody else by more than its slice.
 */
export class FairScheduler {
  readonly #clock: Clock
  readonly #waiting = new Fifo<Work>()
  /** Of this turn, and of those before that used next to nothing, ms. */
  #used = 0
  #scheduled = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Does work, now or when its turn comes; returns whether it is done already. */
  begin(work: Work): boolean {
    const done = this.#used < TURN && !this.#run(work)
    if (!done) this.#waiting.push(work)
    // Being told of the end of a turn costs as much as a small piece of work: many of them count as one turn.
    if (!done || this.#used > SHORTEST_SLICE) this.#schedule()
    return done
  }

  /** Does one slice; returns whether there is more. */
  #run(work: Work): boolean {
    const start = this.#clock.monotonic()
    const left = work(start + Math.max(SHORTEST_SLICE, TURN / (1 + this.#waiting.length)))
    this.#used += this.#clock.monotonic() - start
    return left
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    afterIo(this.#turn)
  }

  readonly #turn = (): void => {
    this.#scheduled = false
    this.#used = 0
    // Once each: what is left goes to the end.
    for (let count = this.#waiting.length; count > 0 && this.#used < TURN; count--) {
      const work = this.#waiting.shift()
      if (work !== undefined && this.#run(work)) this.#waiting.push(work)
    }
    if (this.#waiting.length > 0) this.#schedule()
  }
}

/** What a tempo needs of its keeper. */
export interface TempoHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
}

/** A longer pause is made of several: a client that is not read is not to look silent, ms. */
const LONGEST_PAUSE = 1_000
/** A pause is longer than it has to be, by so many ms and up to as many more, or there would be one for each packet. */
const EXTRA_PAUSE = 10
/** Its multiples are spread evenly: whose pause is the shortest is somebody else each time. */
const GOLDEN_RATIO = 0.618_033_988_749_895

/** Makes a connection that is faster than it may be wait: nothing of it is read, and so its client is slowed down. */
export class ReadThrottle {
  /** Packets since they were charged last. */
  packets = 0
  /** Likewise. */
  bytes = 0
  readonly #host: TempoHost
  readonly #pacers: readonly QuotaAccount[]
  readonly #goOn: (paused: number) => void
  #pause: Deadline<() => void> | undefined

  /**
   * @param pacers - what it is charged to besides its own account
   * @param goOn - a pause is over, which took so many ms
   */
  constructor(host: TempoHost, pacers: readonly QuotaAccount[], goOn: (paused: number) => void) {
    this.#host = host
    this.#pacers = pacers
    this.#goOn = goOn
    // So that none of them is forgotten, and made anew for the next, while it slows this one.
    for (const pacer of pacers) pacer.connections.count(1)
  }

  /** Whether there is a pause. */
  get pausing(): boolean {
    return this.#pause !== undefined
  }

  /**
   * How many packets may be taken before they are charged, besides those that came before it was known to whom; `Infinity`
   * for one to whom nothing is charged.
   */
  room(account: QuotaAccount | undefined): number {
    if (account === undefined && this.#pacers.length === 0) return Number.POSITIVE_INFINITY
    const now = this.#host.clock.monotonic()
    let room = account?.room(now) ?? Number.POSITIVE_INFINITY
    for (const pacer of this.#pacers) room = Math.min(room, pacer.room(now))
    return room - this.packets
  }

  /** Charges what came since the last time; returns whether there is to be a pause. */
  settle(account: QuotaAccount | undefined): boolean {
    // Most stores have one user, on this machine, to whom nothing is charged.
    if (account === undefined && this.#pacers.length === 0) return false
    const { clock, timeouts } = this.#host
    const now = clock.monotonic()
    let wait = account === undefined ? 0 : account.charge(this.packets, this.bytes, now)
    for (const pacer of this.#pacers) wait = Math.max(wait, pacer.charge(this.packets, this.bytes, now))
    this.packets = 0
    this.bytes = 0
    if (wait === 0) return false
    for (const each of this.#pacers) each.paused()
    account?.paused()
    const pauses = (account ?? this.#pacers[0])?.pauses ?? 0
    const extra = EXTRA_PAUSE * (1 + ((GOLDEN_RATIO * pauses) % 1))
    this.#pause = timeouts.add(now + Math.min(wait + extra, LONGEST_PAUSE), () => {
      this.#pause = undefined
      this.#goOn(clock.monotonic() - now)
    })
    return true
  }

  /** The connection is gone; to be called once. */
  stop(): void {
    if (this.#pause) this.#host.timeouts.remove(this.#pause)
    this.#pause = undefined
    for (const pacer of this.#pacers) pacer.connections.give()
  }
}
