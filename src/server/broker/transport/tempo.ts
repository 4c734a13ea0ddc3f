import type { Clock } from '../../../core/util/clock.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { Account } from '../limits/account.js'

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
export class Tempo {
  /** Packets since they were charged last. */
  packets = 0
  /** Likewise. */
  bytes = 0
  readonly #host: TempoHost
  readonly #pacers: readonly Account[]
  readonly #goOn: (paused: number) => void
  #pause: Deadline<() => void> | undefined

  /**
   * @param pacers - what it is charged to besides its own account
   * @param goOn - a pause is over, which took so many ms
   */
  constructor(host: TempoHost, pacers: readonly Account[], goOn: (paused: number) => void) {
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
  room(account: Account | undefined): number {
    if (account === undefined && this.#pacers.length === 0) return Number.POSITIVE_INFINITY
    const now = this.#host.clock.monotonic()
    let room = account?.room(now) ?? Number.POSITIVE_INFINITY
    for (const pacer of this.#pacers) room = Math.min(room, pacer.room(now))
    return room - this.packets
  }

  /** Charges what came since the last time; returns whether there is to be a pause. */
  settle(account: Account | undefined): boolean {
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
