import { type Deadline, DeadlineQueue } from '../../core/util/deadlines.js'
import type { DeferredTasks } from '../../core/util/deferred-tasks.js'
import type { HubLink } from './hub-link.js'
import type { HubSession } from './hub-session.js'

/** The longest pause in ms for one member. Official clients acknowledge once a second, or later on busy machines. */
const MAX_PAUSE_MS = 4_000

/**
 * The limits in ms on the time that senders may wait for the members of one owner, and that one sender may wait for all
 * members.
 */
const PAUSE_LIMITS_MS = { member: 30_000, sender: 60_000 }
/** The share of the elapsed time by which used pause time recovers. */
const RECOVERY_RATES = { member: 1 / 4, sender: 1 / 2 }

interface Pause {
  readonly sender: HubSession
  readonly link: HubLink
  readonly member: HubSession
  readonly position: 'before' | 'after'
  readonly startedAt: number
  deadline: Deadline<Pause> | undefined
}

/**
 * Pauses senders until lagging members catch up, so that a burst does not end their sessions. A sender is held after a
 * message that makes a member lag, and before a message for which a member has no room. Senders held before a message
 * resume first. A pause ends when the member has caught up, or after {@link MAX_PAUSE_MS}. In the latter case, senders
 * do not wait for the member again until it has caught up.
 *
 * Senders also do not wait for a member
 * - that has lagged for {@link MAX_PAUSE_MS} without any acknowledgement, so that any number of dead members cost a
 *   sender one pause;
 * - that lags only with messages of groups other than the group of the sender's message;
 * - whose owner has used up the owner's pause time, or if the sender has used up its own pause time.
 */
export class Backpressure {
  readonly #deadlines = new DeadlineQueue<Pause>()
  readonly #held = new Map<HubSession, Pause>()
  readonly #pauses = new Map<HubSession, Set<Pause>>()
  readonly #memberBudget = new PauseBudget(PAUSE_LIMITS_MS.member, RECOVERY_RATES.member)
  readonly #senderBudget = new PauseBudget(PAUSE_LIMITS_MS.sender, RECOVERY_RATES.sender)
  readonly #pausedSince = new Map<HubSession, number>()
  readonly #deferredTasks: DeferredTasks

  /** @param deferredTasks - runs releases, because a released link may be closed, which releases those that wait for it */
  constructor(deferredTasks: DeferredTasks) {
    this.#deferredTasks = deferredTasks
  }

  get deadline(): number {
    return this.#deadlines.earliest
  }

  holdAfter(sender: HubSession, link: HubLink, lagging: readonly HubSession[], now: number): void {
    this.#hold(sender, link, lagging, 'after', now)
  }

  /** Holds a sender before its message. Returns whether the sender is held, so that the message must be kept. */
  holdBefore(sender: HubSession, link: HubLink, full: readonly HubSession[], now: number): boolean {
    return this.#hold(sender, link, full, 'before', now)
  }

  resumeIfCaughtUp(member: HubSession, now: number): void {
    if (this.#pauses.has(member) && member.isCaughtUp) this.#deferredTasks.defer(() => this.#endAll(member, now))
  }

  tick(now: number): void {
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      const { member } = due
      member.stopPausing()
      this.#deferredTasks.defer(() => this.#endAll(member, now))
    }
  }

  close(now: number): void {
    for (const member of [...this.#pauses.keys()]) this.#deferredTasks.defer(() => this.#endAll(member, now))
  }

  #hold(
    sender: HubSession,
    link: HubLink,
    lagging: readonly HubSession[],
    position: Pause['position'],
    now: number,
  ): boolean {
    const member = this.#slowest(lagging, now)
    const held = this.#held.get(sender)
    if (member === undefined || held?.link === link || this.#senderBudget.isExhausted(sender.connectionId, now))
      return false
    // The sender has recovered its session over another link.
    if (held) this.#end(held, now)
    const pause: Pause = { sender, link, member, position, startedAt: now, deadline: undefined }
    pause.deadline = this.#deadlines.add(now + MAX_PAUSE_MS, pause)
    const pauses = this.#pauses.get(member) ?? new Set()
    if (pauses.size === 0) this.#pausedSince.set(member, now)
    this.#pauses.set(member, pauses.add(pause))
    this.#held.set(sender, pause)
    return link.hold()
  }

  // A member whose link is not read cannot acknowledge before the member itself is released, so waiting for it is
  // useless.
  #slowest(lagging: readonly HubSession[], now: number): HubSession | undefined {
    let slowest: HubSession | undefined
    for (const member of lagging) {
      if (this.#held.get(member)?.link.isReadPaused || member.isStalled(MAX_PAUSE_MS, now)) continue
      if (this.#memberBudget.isExhausted(member.owner, now)) continue
      if (slowest === undefined || member.fillRatio > slowest.fillRatio) slowest = member
    }
    return slowest
  }

  // The loops use a copy, because a released sender may be held again immediately. Senders with an unaccepted message
  // are released first. Otherwise the first senders of a long burst would take all the space every time.
  #endAll(member: HubSession, now: number): void {
    const pauses = [...(this.#pauses.get(member) ?? [])]
    for (const pause of pauses) if (pause.position === 'before') this.#end(pause, now)
    for (const pause of pauses) if (pause.position === 'after') this.#end(pause, now)
  }

  #end(pause: Pause, now: number): void {
    const pauses = this.#pauses.get(pause.member)
    // A sender that was released earlier may have ended this pause and begun another pause.
    if (!pauses?.delete(pause)) return
    if (pauses.size === 0) this.#pauses.delete(pause.member)
    this.#charge(pause, pauses.size === 0, now)
    this.#held.delete(pause.sender)
    if (pause.deadline) this.#deadlines.remove(pause.deadline)
    pause.link.release()
  }

  /** Charges a pause. Time during which several senders wait for a member is charged to the member once. */
  #charge({ sender, member, startedAt: began }: Pause, isLast: boolean, now: number): void {
    this.#senderBudget.charge(sender.connectionId, now - began, now)
    if (!isLast) return
    this.#memberBudget.charge(member.owner, now - (this.#pausedSince.get(member) ?? now), now)
    this.#pausedSince.delete(member)
  }
}

const MIN_SWEEP_SIZE = 1_024

interface UsedPauseTime {
  amountMs: number
  at: number
}

/**
 * Limits the time that each name may cost others to a fixed amount, which recovers with a share of the elapsed time.
 *
 * @example
 * ```ts
 * const budget = new PauseBudget(30_000, 1 / 4)
 * budget.charge('ann', 30_000, now)
 * // true; false after any further time
 * budget.isExhausted('ann', now)
 * ```
 */
export class PauseBudget {
  readonly #limitMs: number
  readonly #recoveryRate: number
  readonly #used = new Map<string, UsedPauseTime>()
  #sweepAt = MIN_SWEEP_SIZE

  /**
   * @param limitMs - amount that exhausts the budget
   * @param recoveryRate - share of the elapsed time by which the budget recovers
   */
  constructor(limitMs: number, recoveryRate: number) {
    this.#limitMs = limitMs
    this.#recoveryRate = recoveryRate
  }

  isExhausted(name: string, now: number): boolean {
    return this.#usedMs(name, now) >= this.#limitMs
  }

  charge(name: string, amountMs: number, now: number): void {
    if (this.#used.size >= this.#sweepAt) this.#sweep(now)
    this.#used.set(name, { amountMs: this.#usedMs(name, now) + amountMs, at: now })
  }

  #usedMs(name: string, now: number): number {
    const used = this.#used.get(name)
    return used === undefined ? 0 : Math.max(0, used.amountMs - (now - used.at) * this.#recoveryRate)
  }

  #sweep(now: number): void {
    for (const name of this.#used.keys()) if (this.#usedMs(name, now) === 0) this.#used.delete(name)
    this.#sweepAt = Math.max(MIN_SWEEP_SIZE, 2 * this.#used.size)
  }
}
