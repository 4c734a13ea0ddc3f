import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import { Timeouts } from '../../core/util/timeouts.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { KeyedRateLimiter } from '../../node/limits/rate.js'

/** The queued frames of one user above which its connections are not read, and below which they are read again. */
const MAX_QUEUED_FRAMES = 4_000
const RESUME_QUEUED_FRAMES = 1_000

/** The minimum pause in ms, because a few long pauses take less CPU time than many short pauses. */
const MIN_WAIT_MS = 20

/**
 * Returns the user, or the address if there is no user id. Returns `undefined` for an anonymous client of this machine.
 */
export function ownerOf(userId: string | undefined, address: string): string | undefined {
  if (userId !== undefined) return `is ${userId}`
  return isThisMachine(address) ? undefined : `at ${networkOf(address)}`
}

export interface SenderRateLimits {
  readonly maxFrameRatePerUser: number
  readonly maxByteRatePerUser: number
}

export interface ThrottledLink {
  /** Stops or resumes processing frames. */
  setSlowed(slowed: boolean): void
  /** Stops or resumes reading from the socket. */
  setBlocked(blocked: boolean): void
}

export interface FrameMeter {
  /** Returns whether a frame may be processed now. If not, slows the link until a frame may be processed. */
  tryAdmit(link: ThrottledLink): boolean
  charge(frames: number, bytes: number): void
  /** Adds to the count of frames queued in links. A negative number removes frames. */
  addQueued(frames: number): void
  add(link: ThrottledLink): void
  remove(link: ThrottledLink): void
}

/**
 * Limits the rate of each user, or of each address without a user id, over all its connections. The connections are
 * served round-robin.
 */
export class SenderRateLimiter {
  readonly #clock: Clock
  readonly #frames: KeyedRateLimiter
  readonly #bytes: KeyedRateLimiter
  readonly #timeouts: Timeouts<MeteredSender>
  readonly #senders = new Map<string, MeteredSender>()
  #pauses = 0

  constructor({ maxFrameRatePerUser, maxByteRatePerUser }: SenderRateLimits, clock: Clock) {
    this.#clock = clock
    this.#frames = new KeyedRateLimiter(maxFrameRatePerUser)
    this.#bytes = new KeyedRateLimiter(maxByteRatePerUser)
    this.#timeouts = new Timeouts(clock, sender => sender.resume())
  }

  get pauses(): number {
    return this.#pauses
  }

  /** Returns the meter of a user's connections. Anonymous senders on this machine are not limited. */
  meterFor(userId: string | undefined, address: string): FrameMeter {
    const name = ownerOf(userId, address)
    if (name === undefined) return UNLIMITED
    const existing = this.#senders.get(name)
    if (existing !== undefined) return existing
    const sender = new MeteredSender({
      waitMs: () => this.#waitMs(name),
      charge: (frames, bytes) => this.#charge(name, frames, bytes),
      scheduleResume: wait => {
        this.#timeouts.add(this.#clock.monotonic() + Math.max(wait, MIN_WAIT_MS), sender)
      },
      onPaused: () => this.#pauses++,
      onUnused: () => this.#senders.delete(name),
    })
    this.#senders.set(name, sender)
    return sender
  }

  #waitMs(name: string): number {
    const now = this.#clock.monotonic()
    return Math.max(this.#frames.of(name, now).wait(now), this.#bytes.of(name, now).wait(now))
  }

  #charge(name: string, frames: number, bytes: number): void {
    const now = this.#clock.monotonic()
    this.#frames.of(name, now).charge(frames, now)
    this.#bytes.of(name, now).charge(bytes, now)
  }
}

interface MeteredSenderHost {
  readonly waitMs: () => number
  readonly charge: (frames: number, bytes: number) => void
  readonly scheduleResume: (wait: number) => void
  readonly onPaused: () => void
  readonly onUnused: () => void
}

class MeteredSender implements FrameMeter {
  readonly #host: MeteredSenderHost
  readonly #links = new Set<ThrottledLink>()
  /** The slowed links, in round-robin order. */
  readonly #slowed = new Fifo<ThrottledLink>()
  #isResumeScheduled = false
  #queuedFrames = 0
  #isBlocked = false

  constructor(host: MeteredSenderHost) {
    this.#host = host
  }

  tryAdmit(link: ThrottledLink): boolean {
    const wait = this.#host.waitMs()
    if (wait === 0) return true
    this.#host.onPaused()
    link.setSlowed(true)
    this.#slowed.push(link)
    this.#scheduleResume(wait)
    return false
  }

  charge(frames: number, bytes: number): void {
    this.#host.charge(frames, bytes)
  }

  addQueued(frames: number): void {
    this.#queuedFrames += frames
    if (!this.#isBlocked && this.#queuedFrames > MAX_QUEUED_FRAMES) this.#setBlocked(true)
    else if (this.#isBlocked && this.#queuedFrames <= RESUME_QUEUED_FRAMES) this.#setBlocked(false)
  }

  add(link: ThrottledLink): void {
    this.#links.add(link)
    if (this.#isBlocked) link.setBlocked(true)
  }

  remove(link: ThrottledLink): void {
    this.#links.delete(link)
    if (this.#links.size === 0) this.#host.onUnused()
  }

  /** Lets slowed links process frames round-robin until the rate limit applies again. */
  resume(): void {
    this.#isResumeScheduled = false
    for (let left = this.#slowed.length; left > 0 && this.#host.waitMs() === 0; left--)
      this.#slowed.shift()?.setSlowed(false)
    if (this.#slowed.length > 0) this.#scheduleResume(this.#host.waitMs())
  }

  #scheduleResume(wait: number): void {
    if (this.#isResumeScheduled) return
    this.#isResumeScheduled = true
    this.#host.scheduleResume(wait)
  }

  #setBlocked(isBlocked: boolean): void {
    this.#isBlocked = isBlocked
    for (const link of [...this.#links]) link.setBlocked(isBlocked)
  }
}

const UNLIMITED: FrameMeter = {
  tryAdmit: () => true,
  charge: () => undefined,
  addQueued: () => undefined,
  add: () => undefined,
  remove: () => undefined,
}
