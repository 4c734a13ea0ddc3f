import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import { Timeouts } from '../../core/util/timeouts.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { KeyedRateLimiter } from '../../node/limits/rate.js'

/** Queued frames of one user above which its connections are not read, and below which they are read again. */
const MAX_BACKLOG = 4_000
const SMALL_BACKLOG = 1_000

/** Minimum pause, ms: few long pauses cost less CPU than many short ones. */
const SHORTEST_WAIT = 20

/**
 * Returns the owner of a connection: its user, or its address without a user id; `undefined` for an anonymous
 * connection of this machine.
 */
export function ownerOf(userId: string | undefined, address: string): string | undefined {
  if (userId !== undefined) return `is ${userId}`
  return isThisMachine(address) ? undefined : `at ${networkOf(address)}`
}

/** Rate limits per user, per second. */
export interface SenderQuotas {
  readonly maxFrameRatePerUser: number
  readonly maxByteRatePerUser: number
}

/** A network connection that can be throttled. */
export interface SlowLink {
  /** Stops or resumes processing frames. */
  slow(slowed: boolean): void
  /** Stops or resumes reading. */
  block(blocked: boolean): void
}

/** Meters the frames of a link. */
export interface FrameMeter {
  /** Returns whether a frame may be processed now. If not, slows the link until one may. */
  admits(link: SlowLink): boolean
  /** Counts processed frames. */
  charge(frames: number, bytes: number): void
  /** Adds to the count of frames queued in links; negative to remove. */
  keep(frames: number): void
  add(link: SlowLink): void
  remove(link: SlowLink): void
}

/**
 * Limits the rate of each user, and of each address without a user id, over all its connections, which take turns.
 * Excess data stays in the sockets.
 */
export class SenderRateLimiter {
  readonly #clock: Clock
  readonly #frames: KeyedRateLimiter
  readonly #bytes: KeyedRateLimiter
  readonly #timeouts: Timeouts<Sender>
  readonly #senders = new Map<string, Sender>()
  #pauses = 0

  constructor({ maxFrameRatePerUser, maxByteRatePerUser }: SenderQuotas, clock: Clock) {
    this.#clock = clock
    const now = (): number => clock.monotonic()
    this.#frames = new KeyedRateLimiter(maxFrameRatePerUser, now)
    this.#bytes = new KeyedRateLimiter(maxByteRatePerUser, now)
    this.#timeouts = new Timeouts(clock, sender => sender.goOn())
  }

  get pauses(): number {
    return this.#pauses
  }

  /** Returns the meter of a user's connections; anonymous senders on this machine are not limited. */
  meterOf(userId: string | undefined, address: string): FrameMeter {
    const name = ownerOf(userId, address)
    if (name === undefined) return UNLIMITED
    const known = this.#senders.get(name)
    if (known !== undefined) return known
    const sender = new Sender({
      wait: () => this.#wait(name),
      charge: (frames, bytes) => this.#charge(name, frames, bytes),
      wake: wait => {
        this.#timeouts.add(this.#clock.monotonic() + Math.max(wait, SHORTEST_WAIT), sender)
      },
      paused: () => this.#pauses++,
      unused: () => this.#senders.delete(name),
    })
    this.#senders.set(name, sender)
    return sender
  }

  #wait(name: string): number {
    const now = this.#clock.monotonic()
    return Math.max(this.#frames.of(name).wait(now), this.#bytes.of(name).wait(now))
  }

  #charge(name: string, frames: number, bytes: number): void {
    const now = this.#clock.monotonic()
    this.#frames.of(name).charge(frames, now)
    this.#bytes.of(name).charge(bytes, now)
  }
}

interface SenderHost {
  /** Time until a frame may be processed, ms. */
  readonly wait: () => number
  readonly charge: (frames: number, bytes: number) => void
  /** Calls `resume` after a delay in ms. */
  readonly wake: (wait: number) => void
  readonly paused: () => void
  readonly unused: () => void
}

/** All connections of one user or address. */
class Sender implements FrameMeter {
  readonly #host: SenderHost
  readonly #links = new Set<SlowLink>()
  /** Slowed links, in round-robin order. */
  readonly #slowed = new Fifo<SlowLink>()
  #isWaking = false
  #backlog = 0
  #isBlocked = false

  constructor(host: SenderHost) {
    this.#host = host
  }

  admits(link: SlowLink): boolean {
    const wait = this.#host.wait()
    if (wait === 0) return true
    this.#host.paused()
    link.slow(true)
    this.#slowed.push(link)
    this.#wake(wait)
    return false
  }

  charge(frames: number, bytes: number): void {
    this.#host.charge(frames, bytes)
  }

  keep(frames: number): void {
    this.#backlog += frames
    if (!this.#isBlocked && this.#backlog > MAX_BACKLOG) this.#block(true)
    else if (this.#isBlocked && this.#backlog <= SMALL_BACKLOG) this.#block(false)
  }

  add(link: SlowLink): void {
    this.#links.add(link)
    if (this.#isBlocked) link.block(true)
  }

  remove(link: SlowLink): void {
    this.#links.delete(link)
    if (this.#links.size === 0) this.#host.unused()
  }

  /** Lets slowed links process frames in turn, until the rate limit applies again. */
  goOn(): void {
    this.#isWaking = false
    for (let left = this.#slowed.length; left > 0 && this.#host.wait() === 0; left--) this.#slowed.shift()?.slow(false)
    if (this.#slowed.length > 0) this.#wake(this.#host.wait())
  }

  #wake(wait: number): void {
    if (this.#isWaking) return
    this.#isWaking = true
    this.#host.wake(wait)
  }

  #block(isBlocked: boolean): void {
    this.#isBlocked = isBlocked
    for (const link of [...this.#links]) link.block(isBlocked)
  }
}

const UNLIMITED: FrameMeter = {
  admits: () => true,
  charge: () => undefined,
  keep: () => undefined,
  add: () => undefined,
  remove: () => undefined,
}
