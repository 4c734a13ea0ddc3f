import type { Clock } from '../../base/clock.js'
import type { Deadline } from '../../base/deadlines.js'
import { Timeouts } from '../../base/timeouts.js'
import type { HubSession } from './hub-session.js'

/** Longest pause for one member: the official clients acknowledge once a second, on busy machines later, ms. */
export const LONGEST_PAUSE = 4_000

/** The source of a client's frames. */
export interface Source {
  /** Whether nothing is read from it at present, not even acknowledgements. */
  readonly deaf: boolean
  /** Takes no more frames for now. */
  hold(): void
  /** Takes frames again. */
  release(): void
}

interface Pause {
  readonly sender: HubSession
  readonly source: Source
  readonly member: HubSession
  /** Who lagged behind when it began, and what was queued for each last. */
  readonly lagged: readonly { readonly session: HubSession; readonly last: number }[]
  deadline: Deadline<Pause> | undefined
}

/**
 * Lets senders wait for members that are about to have too much unacknowledged, so that a burst does not end sessions
 * that are only some way off. A pause ends when the member has caught up, or in {@link LONGEST_PAUSE} at the latest; then
 * the member is not waited for again until it has, nor is any other that lagged when the pause began and has not
 * acknowledged what it had then: however many are dead, they cost a sender one pause.
 */
export class Pacing {
  readonly #clock: Clock
  readonly #timeouts: Timeouts<Pause>
  /** Senders that are held. */
  readonly #held = new Map<HubSession, Source>()
  /** By the member that is waited for. */
  readonly #pauses = new Map<HubSession, Set<Pause>>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#timeouts = new Timeouts(clock, ({ lagged, member }) => {
      excuse(lagged)
      this.#endAll(member)
    })
  }

  /** Makes a sender wait for the slowest of the members that lag behind. */
  hold(sender: HubSession, source: Source, lagging: readonly HubSession[]): void {
    const member = this.#slowest(lagging)
    if (member === undefined || this.#held.has(sender)) return
    const lagged = lagging.map(session => ({ session, last: session.last }))
    const pause: Pause = { sender, source, member, lagged, deadline: undefined }
    pause.deadline = this.#timeouts.add(this.#clock.monotonic() + LONGEST_PAUSE, pause)
    const pauses = this.#pauses.get(member) ?? new Set()
    this.#pauses.set(member, pauses.add(pause))
    this.#held.set(sender, source)
    source.hold()
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
  #slowest(lagging: readonly HubSession[]): HubSession | undefined {
    let slowest: HubSession | undefined
    for (const member of lagging) {
      if (this.#held.get(member)?.deaf) continue
      if (slowest === undefined || member.backlog > slowest.backlog) slowest = member
    }
    return slowest
  }

  // Only the pauses of this moment: a sender that goes on may have to wait again at once.
  #endAll(member: HubSession): void {
    for (const pause of [...(this.#pauses.get(member) ?? [])]) this.#end(pause)
  }

  #end(pause: Pause): void {
    const pauses = this.#pauses.get(pause.member)
    // A sender released before this one may have ended it: its sender may be in another pause by now.
    if (!pauses?.delete(pause)) return
    if (pauses.size === 0) this.#pauses.delete(pause.member)
    this.#held.delete(pause.sender)
    if (pause.deadline) this.#timeouts.remove(pause.deadline)
    pause.source.release()
  }
}

/** A member that caught up meanwhile and lags behind anew was not waited for in vain. */
function excuse(lagged: Pause['lagged']): void {
  for (const { session, last } of lagged) if (!session.caughtUp && !session.hasAcknowledged(last)) session.excuse()
}
