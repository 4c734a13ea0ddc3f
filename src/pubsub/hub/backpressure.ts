import { type Deadline, DeadlineQueue } from '../../core/util/deadlines.js'
import type { DeferredTasks } from '../../core/util/deferred-tasks.js'
import { KeyedRateLimiter } from '../../node/limits/rate.js'
import type { HubLink } from './hub-link.js'
import type { NumberedFrame } from './shared-codec.js'

/** The longest pause in ms for one member. Official clients acknowledge once a second, or later on busy machines. */
const MAX_PAUSE_MS = 4_000

/**
 * The time that senders may wait for the members of one owner, and that one sender may wait for all members: the
 * recovery in ms per second, and the time in ms after which all of the limit, 30 s and 60 s, has recovered.
 */
const PAUSE_RATES = { member: [250, 120_000], sender: [500, 120_000] } as const

const isExhausted = (pauses: KeyedRateLimiter, name: string, now: number): boolean =>
  pauses.of(name, now).available(now) <= 0

/** A session as a sender that may be paused, and as a member for which senders wait. */
export interface Participant {
  readonly connectionId: string
  readonly owner: string
  readonly attached: boolean
  /** The fill ratio of the unacknowledged messages. 1 is the limit. */
  readonly fillRatio: number
  readonly lag: Lag
}

/** Returns whether senders to a group should wait for a member. Nobody waits for a detached member. */
export const shouldWaitFor = ({ attached, lag }: Participant, group: string): boolean => attached && lag.isIn(group)

interface Pause {
  readonly sender: Participant
  readonly link: HubLink
  readonly member: Participant
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
  readonly #held = new Map<Participant, Pause>()
  readonly #pauses = new Map<Participant, Set<Pause>>()
  readonly #memberPauses = new KeyedRateLimiter(...PAUSE_RATES.member)
  readonly #senderPauses = new KeyedRateLimiter(...PAUSE_RATES.sender)
  readonly #pausedSince = new Map<Participant, number>()
  readonly #deferredTasks: DeferredTasks
  #lagging: readonly Participant[] = []

  /** @param deferredTasks - runs releases, because a released link may be closed, which releases those that wait for it */
  constructor(deferredTasks: DeferredTasks) {
    this.#deferredTasks = deferredTasks
  }

  get deadline(): number {
    return this.#deadlines.earliest
  }

  /** Begins a frame. {@link Backpressure.holdAfter} concerns the members that lag because of this frame. */
  begin(): void {
    this.#lagging = []
  }

  /** Notes the members that lag because of a message that the current frame or the application's response sent. */
  onLagging(lagging: readonly Participant[]): void {
    if (lagging.length > 0) this.#lagging = lagging
  }

  /** Holds a sender after its frame if members lag because of the frame. */
  holdAfter(sender: Participant, link: HubLink, now: number): void {
    if (this.#lagging.length > 0) this.#hold(sender, link, this.#lagging, 'after', now)
  }

  /** Holds a sender before its message. Returns whether the sender is held, so that the message must be kept. */
  holdBefore(sender: Participant, link: HubLink, full: readonly Participant[], now: number): boolean {
    return this.#hold(sender, link, full, 'before', now)
  }

  resumeIfCaughtUp(member: Participant, now: number): void {
    if (this.#pauses.has(member) && (!member.attached || member.lag.isCaughtUp))
      this.#deferredTasks.defer(() => this.#endAll(member, now))
  }

  tick(now: number): void {
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      const { member } = due
      member.lag.ignore()
      this.#deferredTasks.defer(() => this.#endAll(member, now))
    }
  }

  close(now: number): void {
    for (const member of [...this.#pauses.keys()]) this.#deferredTasks.defer(() => this.#endAll(member, now))
  }

  #hold(
    sender: Participant,
    link: HubLink,
    lagging: readonly Participant[],
    position: Pause['position'],
    now: number,
  ): boolean {
    const member = this.#slowest(lagging, now)
    const held = this.#held.get(sender)
    if (member === undefined || held?.link === link || isExhausted(this.#senderPauses, sender.connectionId, now))
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
  #slowest(lagging: readonly Participant[], now: number): Participant | undefined {
    let slowest: Participant | undefined
    for (const member of lagging) {
      if (this.#held.get(member)?.link.isReadPaused || member.lag.isStalled(MAX_PAUSE_MS, now)) continue
      if (isExhausted(this.#memberPauses, member.owner, now)) continue
      if (slowest === undefined || member.fillRatio > slowest.fillRatio) slowest = member
    }
    return slowest
  }

  // The loops use a copy, because a released sender may be held again immediately. Senders with an unaccepted message
  // are released first. Otherwise the first senders of a long burst would take all the space every time.
  #endAll(member: Participant, now: number): void {
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
    this.#senderPauses.of(sender.connectionId, now).charge(now - began, now)
    if (!isLast) return
    this.#memberPauses.of(member.owner, now).charge(now - (this.#pausedSince.get(member) ?? now), now)
    this.#pausedSince.delete(member)
  }
}

/** The amount above which a member lags and senders should wait for it. The remaining space is for concurrent senders. */
const LAGS_ABOVE = { messages: 750, bytes: 8 * 1024 * 1024 }
/** The amount up to which a member has caught up. */
const CAUGHT_UP_BELOW = { messages: 250, bytes: 4 * 1024 * 1024 }

/**
 * The size up to which a group does not contribute to a member's lag, and the share of another group's amount below
 * which it does not.
 */
const MINOR_GROUP = { messages: LAGS_ABOVE.messages / 16, bytes: LAGS_ABOVE.bytes / 16 }
const MINOR_GROUP_RATIO = 1 / 4

interface Amount {
  messages: number
  bytes: number
}

/**
 * The progress of a member. `ignored`: the member is still behind, but senders no longer wait for it. `at`: the time in
 * ms when the lag began or the last acknowledgement since then arrived.
 */
type Progress =
  | { readonly state: 'caughtUp' }
  | { readonly state: 'behind'; readonly at: number }
  | { readonly state: 'ignored'; readonly at: number }

const CAUGHT_UP: Progress = { state: 'caughtUp' }

/** The unacknowledged messages of a member. */
export interface Unacknowledged {
  readonly frames: readonly NumberedFrame[]
  readonly bytes: number
}

/** Decides whether a member is too slow, from its unacknowledged messages. */
export class Lag {
  readonly #queue: Unacknowledged
  #progress: Progress = CAUGHT_UP
  /** The amounts by group, maintained from the first call of `isIn` until the member has caught up. */
  #groups: Map<string | undefined, Amount> | undefined

  constructor(queue: Unacknowledged) {
    this.#queue = queue
  }

  get isCaughtUp(): boolean {
    return this.#queue.frames.length <= CAUGHT_UP_BELOW.messages && this.#queue.bytes <= CAUGHT_UP_BELOW.bytes
  }

  /** Returns whether the member lags with messages of a group. */
  isIn(group: string): boolean {
    const { frames, bytes: size } = this.#queue
    if (this.#progress.state === 'ignored') return false
    if (frames.length <= LAGS_ABOVE.messages && size <= LAGS_ABOVE.bytes) return false
    const { messages, bytes } = this.#amounts.get(group) ?? { messages: 0, bytes: 0 }
    if (messages <= MINOR_GROUP.messages && bytes <= MINOR_GROUP.bytes) return false
    const all = [...this.#amounts.values()]
    return (
      all.every(other => messages >= other.messages * MINOR_GROUP_RATIO) ||
      all.every(other => bytes >= other.bytes * MINOR_GROUP_RATIO)
    )
  }

  /** Returns whether the member has lagged for `duration` ms without any acknowledgement. */
  isStalled(duration: number, now: number): boolean {
    return this.#progress.state !== 'caughtUp' && now - this.#progress.at >= duration
  }

  /** Stops senders from waiting for this member until it has caught up. */
  ignore(): void {
    if (this.#progress.state === 'behind') this.#progress = { state: 'ignored', at: this.#progress.at }
  }

  /** Records a message that was queued. */
  onQueued(frame: NumberedFrame, now: number): void {
    if (this.#groups) addToAmounts(this.#groups, frame, 1)
    if (this.#progress.state === 'caughtUp' && !this.isCaughtUp) this.#progress = { state: 'behind', at: now }
  }

  /** Records messages that were acknowledged. */
  onAcknowledged(frames: readonly NumberedFrame[], now: number): void {
    if (this.#groups) for (const frame of frames) addToAmounts(this.#groups, frame, -1)
    if (this.isCaughtUp) {
      this.#progress = CAUGHT_UP
      this.#groups = undefined
    } else if (frames.length > 0) this.#progress = { state: this.#progress.state, at: now }
  }

  get #amounts(): ReadonlyMap<string | undefined, Amount> {
    if (this.#groups !== undefined) return this.#groups
    const groups = new Map<string | undefined, Amount>()
    for (const frame of this.#queue.frames) addToAmounts(groups, frame, 1)
    this.#groups = groups
    return groups
  }
}

function addToAmounts(groups: Map<string | undefined, Amount>, { group, size }: NumberedFrame, sign: 1 | -1): void {
  const amount = groups.get(group) ?? { messages: 0, bytes: 0 }
  amount.messages += sign
  amount.bytes += sign * size
  if (amount.messages === 0) groups.delete(group)
  else groups.set(group, amount)
}
