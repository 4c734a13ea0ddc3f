import { type Deadline, DeadlineQueue } from '../../core/util/deadlines.js'
import type { HubLink } from './hub-link.js'
import type { HubSession } from './hub-session.js'

/** Longest pause for one member: the official clients acknowledge once a second, on busy machines later, ms. */
const LONGEST_PAUSE = 4_000

/** How long senders may wait for the members of one owner, and one sender for all members, ms. */
const MOST_WAITING = { member: 30_000, sender: 60_000 }
/** The part of the time by which what was waited is forgiven. */
const FORGIVEN = { member: 1 / 4, sender: 1 / 2 }

/** A sender waits for a member. */
interface Pause {
  readonly sender: HubSession
  readonly link: HubLink
  readonly member: HubSession
  /** After a message of the sender, or before one that was not taken. */
  readonly place: 'before' | 'after'
  /** ms */
  readonly began: number
  deadline: Deadline<Pause> | undefined
}

/**
 * Decides who waits for whom, so that a burst does not end sessions that are only some way off: a sender waits for members
 * that are about to have too much unacknowledged. It is held after a message with which a member lags behind, and before
 * one for which a member has no room; those go on first. A pause ends when the member has caught up, or in
 * {@link LONGEST_PAUSE} at the latest; then the member is not waited for again until it has.
 *
 * Nor is a member waited for
 * - that has been behind for {@link LONGEST_PAUSE} and has acknowledged nothing meanwhile: however many are dead, they cost
 *   a sender one pause;
 * - that lags behind with messages of other groups than that of the sender's message;
 * - whose owner was waited for too much of the time, or by a sender that has waited too much of the time.
 */
export class Backpressure {
  readonly #deadlines = new DeadlineQueue<Pause>()
  /** Senders that are held. */
  readonly #held = new Map<HubSession, Pause>()
  /** By the member that is waited for. */
  readonly #pauses = new Map<HubSession, Set<Pause>>()
  /** What was waited for members, by their owner, and by senders. */
  readonly #waitedFor = new PauseBudget(MOST_WAITING.member, FORGIVEN.member)
  readonly #waited = new PauseBudget(MOST_WAITING.sender, FORGIVEN.sender)
  readonly #since = new Map<HubSession, number>()

  /** When {@link tick} has something to do next; `Infinity` for never. */
  get deadline(): number {
    return this.#deadlines.earliest
  }

  /** Makes a sender wait after its message, for the slowest of the members that lag behind with it. */
  holdAfter(sender: HubSession, link: HubLink, lagging: readonly HubSession[], now: number): void {
    this.#hold(sender, link, lagging, 'after', now)
  }

  /**
   * Makes a sender wait before its message, for the slowest of the members that have no room for it. Returns whether it
   * does, and the message has to be kept.
   */
  holdBefore(sender: HubSession, link: HubLink, full: readonly HubSession[], now: number): boolean {
    return this.#hold(sender, link, full, 'before', now)
  }

  /** Ends the pauses for a member that has caught up, or is away. */
  review(member: HubSession, now: number): void {
    if (this.#pauses.size > 0 && member.caughtUp) this.#endAll(member, now)
  }

  /** Ends the pauses that have taken too long. */
  tick(now: number): void {
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      due.member.excuse()
      this.#endAll(due.member, now)
    }
  }

  /** Ends all pauses. */
  close(now: number): void {
    for (const member of [...this.#pauses.keys()]) this.#endAll(member, now)
  }

  /** Returns whether the sender waits from now on. */
  #hold(
    sender: HubSession,
    link: HubLink,
    lagging: readonly HubSession[],
    place: Pause['place'],
    now: number,
  ): boolean {
    const member = this.#slowest(lagging, now)
    const held = this.#held.get(sender)
    if (member === undefined || held?.link === link || this.#waited.isSpent(sender.connectionId, now)) return false
    // It has recovered at another link.
    if (held) this.#end(held, now)
    const pause: Pause = { sender, link, member, place, began: now, deadline: undefined }
    pause.deadline = this.#deadlines.add(now + LONGEST_PAUSE, pause)
    const pauses = this.#pauses.get(member) ?? new Set()
    if (pauses.size === 0) this.#since.set(member, now)
    this.#pauses.set(member, pauses.add(pause))
    this.#held.set(sender, pause)
    return link.hold()
  }

  // A member from which nothing more is read cannot acknowledge before it goes on itself: waiting for it is useless.
  #slowest(lagging: readonly HubSession[], now: number): HubSession | undefined {
    let slowest: HubSession | undefined
    for (const member of lagging) {
      if (this.#held.get(member)?.link.isDeaf || member.isStalled(LONGEST_PAUSE, now)) continue
      if (this.#waitedFor.isSpent(member.owner, now)) continue
      if (slowest === undefined || member.backlog > slowest.backlog) slowest = member
    }
    return slowest
  }

  // Only the pauses of this moment: a sender that goes on may have to wait again at once. Those of whom nothing was taken
  // come first, or the first senders of a long burst would take all the room each time.
  #endAll(member: HubSession, now: number): void {
    const pauses = [...(this.#pauses.get(member) ?? [])]
    for (const pause of pauses) if (pause.place === 'before') this.#end(pause, now)
    for (const pause of pauses) if (pause.place === 'after') this.#end(pause, now)
  }

  #end(pause: Pause, now: number): void {
    const pauses = this.#pauses.get(pause.member)
    // A sender released before this one may have ended it: its sender may be in another pause by now.
    if (!pauses?.delete(pause)) return
    if (pauses.size === 0) this.#pauses.delete(pause.member)
    this.#charge(pause, pauses.size === 0, now)
    this.#held.delete(pause.sender)
    if (pause.deadline) this.#deadlines.remove(pause.deadline)
    pause.link.release()
  }

  /** The time in which several senders wait for a member counts once for it. */
  #charge({ sender, member, began }: Pause, isLast: boolean, now: number): void {
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
