import type { Clock } from '../../core/util/clock.js'
import type { Deadline } from '../../core/util/deadlines.js'
import { Timeouts } from '../../core/util/timeouts.js'
import type { HubSession } from './hub-session.js'

/** Longest pause for one member: the official clients acknowledge once a second, on busy machines later, ms. */
export const LONGEST_PAUSE = 4_000

/** The source of a client's frames. */
export interface Source {
  /** Whether nothing is read from it at present, not even acknowledgements. */
  readonly deaf: boolean
  /** Takes no more frames for now; `false` when it does all the same, for it is closed and hands over what is left. */
  hold(): boolean
  /** Takes frames again. */
  release(): void
}

interface Pause {
  readonly sender: HubSession
  readonly source: Source
  readonly member: HubSession
  /** Whether a frame of the sender was not taken. */
  readonly untaken: boolean
  /** ms */
  readonly began: number
  deadline: Deadline<Pause> | undefined
}

/** How long senders may wait for the members of one owner, and one sender for all members, ms. */
const MOST_WAITING = { member: 30_000, sender: 60_000 }
/** The part of the time by which what was waited is forgiven. */
const FORGIVEN = { member: 1 / 4, sender: 1 / 2 }

/**
 * Lets senders wait for members that are about to have too much unacknowledged, so that a burst does not end sessions
 * that are only some way off. A sender is held after a message with which a member lags behind, and before one for which a
 * member has no room; those go on first. A pause ends when the member has caught up, or in {@link LONGEST_PAUSE} at the
 * latest; then the member is not waited for again until it has.
 *
 * Nor is a member waited for
 * - that has been behind for {@link LONGEST_PAUSE} and has acknowledged nothing meanwhile: however many are dead, they cost
 *   a sender one pause;
 * - that lags behind with messages of other groups than that of the sender's message;
 * - whose owner was waited for too much of the time, or by a sender that has waited too much of the time.
 */
export class Pacing {
  readonly #clock: Clock
  readonly #timeouts: Timeouts<Pause>
  /** Senders that are held. */
  readonly #held = new Map<HubSession, Pause>()
  /** By the member that is waited for. */
  readonly #pauses = new Map<HubSession, Set<Pause>>()
  /** What was waited for members, by their owner, and by senders. */
  readonly #waitedFor = new PauseBudget(MOST_WAITING.member, FORGIVEN.member)
  readonly #waited = new PauseBudget(MOST_WAITING.sender, FORGIVEN.sender)
  readonly #since = new Map<HubSession, number>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#timeouts = new Timeouts(clock, ({ member }) => {
      member.excuse()
      this.#endAll(member)
    })
  }

  /**
   * Makes a sender wait for the slowest of the members that lag behind.
   *
   * @param untaken - whether it waits before its message, not after it
   * @returns whether it waits from now on
   */
  hold(sender: HubSession, source: Source, lagging: readonly HubSession[], untaken = false): boolean {
    const now = this.#clock.monotonic()
    const member = this.#slowest(lagging, now)
    const held = this.#held.get(sender)
    if (member === undefined || held?.source === source || this.#waited.isSpent(sender.connectionId, now)) return false
    // It has recovered at another link.
    if (held) this.#end(held)
    const pause: Pause = { sender, source, member, untaken, began: now, deadline: undefined }
    pause.deadline = this.#timeouts.add(now + LONGEST_PAUSE, pause)
    const pauses = this.#pauses.get(member) ?? new Set()
    if (pauses.size === 0) this.#since.set(member, now)
    this.#pauses.set(member, pauses.add(pause))
    this.#held.set(sender, pause)
    return source.hold()
  }

  /** Ends the pauses for a member that has caught up, or is away. */
  review(member: HubSession): void {
    if (member.caughtUp) this.#endAll(member)
  }

  /** Ends all pauses. */
  close(): void {
    for (const member of [...this.#pauses.keys()]) this.#endAll(member)
  }

  // A member from which nothing more is read cannot acknowledge before it goes on itself: waiting for it is useless.
  #slowest(lagging: readonly HubSession[], now: number): HubSession | undefined {
    let slowest: HubSession | undefined
    for (const member of lagging) {
      if (this.#held.get(member)?.source.deaf || member.isStalled(LONGEST_PAUSE, now)) continue
      if (this.#waitedFor.isSpent(member.owner, now)) continue
      if (slowest === undefined || member.backlog > slowest.backlog) slowest = member
    }
    return slowest
  }

  // Only the pauses of this moment: a sender that goes on may have to wait again at once. Those of whom nothing was taken
  // come first, or the first senders of a long burst would take all the room each time.
  #endAll(member: HubSession): void {
    const pauses = [...(this.#pauses.get(member) ?? [])]
    for (const pause of pauses) if (pause.untaken) this.#end(pause)
    for (const pause of pauses) if (!pause.untaken) this.#end(pause)
  }

  #end(pause: Pause): void {
    const pauses = this.#pauses.get(pause.member)
    // A sender released before this one may have ended it: its sender may be in another pause by now.
    if (!pauses?.delete(pause)) return
    if (pauses.size === 0) this.#pauses.delete(pause.member)
    this.#charge(pause, pauses.size === 0)
    this.#held.delete(pause.sender)
    if (pause.deadline) this.#timeouts.remove(pause.deadline)
    pause.source.release()
  }

  /** The time in which several senders wait for a member counts once for it. */
  #charge({ sender, member, began }: Pause, isLast: boolean): void {
    const now = this.#clock.monotonic()
    this.#waited.charge(sender.connectionId, now - began, now)
    if (!isLast) return
    this.#waitedFor.charge(member.owner, now - (this.#since.get(member) ?? now), now)
    this.#since.delete(member)
  }
}

/** With fewer names it is not looked for those to forget. */
const FEW = 1_024

interface Spent {
  /** ms, at that time */
  amount: number
  at: number
}

/**
 * How much time each of many may cost others: an amount at once, and later a part of the time that passes.
 *
 * @example
 * ```ts
 * const budget = new PauseBudget(30_000, 1 / 4)
 * budget.charge('ann', 30_000, now)
 * budget.isSpent('ann', now) // true, and four seconds later there is one again
 * ```
 */
export class PauseBudget {
  readonly #most: number
  readonly #forgiven: number
  readonly #spent = new Map<string, Spent>()
  #sweepAt = FEW

  /**
   * @param most - ms
   * @param forgiven - the part of the time by which it is forgiven
   */
  constructor(most: number, forgiven: number) {
    this.#most = most
    this.#forgiven = forgiven
  }

  isSpent(name: string, now: number): boolean {
    return this.#left(name, now) >= this.#most
  }

  charge(name: string, amount: number, now: number): void {
    if (this.#spent.size >= this.#sweepAt) this.#sweep(now)
    this.#spent.set(name, { amount: this.#left(name, now) + amount, at: now })
  }

  #left(name: string, now: number): number {
    const spent = this.#spent.get(name)
    return spent === undefined ? 0 : Math.max(0, spent.amount - (now - spent.at) * this.#forgiven)
  }

  #sweep(now: number): void {
    for (const name of this.#spent.keys()) if (this.#left(name, now) === 0) this.#spent.delete(name)
    this.#sweepAt = Math.max(FEW, 2 * this.#spent.size)
  }
}
