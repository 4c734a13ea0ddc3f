import type { Clock } from '../../clock.js'
import type { Session } from './session.js'

/** Longest pause for one member, ms. */
export const LONGEST_PAUSE = 250

/** Where a client's frames come from. */
export interface Source {
  /** Takes no more frames for now. */
  hold(): void
  /** Takes frames again. */
  release(): void
}

interface Pause {
  readonly sender: Session
  readonly source: Source
  readonly member: Session
  readonly cancel: () => void
}

/**
 * Lets senders wait for members that are about to have too much unacknowledged, so that a burst does not end sessions
 * that are only some way off. A pause ends when the member has caught up, or in {@link LONGEST_PAUSE} at the latest; then
 * the member is not waited for until a quarter more of its limit is used: whoever is dead overflows nearly as soon.
 */
export class Pacing {
  readonly #clock: Clock
  /** Senders that wait. */
  readonly #held = new Set<Session>()
  /** By the member that is waited for. */
  readonly #pauses = new Map<Session, Set<Pause>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Has a sender wait for the slowest of the members that lag behind. */
  hold(sender: Session, source: Source, lagging: readonly Session[]): void {
    const member = this.#slowest(sender, lagging)
    if (member === undefined || this.#held.has(sender)) return
    const pause: Pause = {
      sender,
      source,
      member,
      cancel: this.#clock.schedule(LONGEST_PAUSE, () => {
        member.excuse()
        this.#endAll(member)
      }),
    }
    const pauses = this.#pauses.get(member) ?? new Set()
    this.#pauses.set(member, pauses.add(pause))
    this.#held.add(sender)
    source.hold()
  }

  /** Ends the pauses for a member that has caught up, or is away. */
  review(member: Session): void {
    if (member.caughtUp) this.#endAll(member)
  }

  /** Ends all pauses. */
  close(): void {
    for (const member of [...this.#pauses.keys()]) this.#endAll(member)
  }

  // A sender that waits cannot acknowledge: what it sent before has to be read first. So nobody waits for it, nor for
  // himself.
  #slowest(sender: Session, lagging: readonly Session[]): Session | undefined {
    let slowest: Session | undefined
    for (const member of lagging) {
      if (member === sender || this.#held.has(member)) continue
      if (slowest === undefined || member.backlog > slowest.backlog) slowest = member
    }
    return slowest
  }

  // Only those there are now: who goes on may have to wait again at once.
  #endAll(member: Session): void {
    for (const pause of [...(this.#pauses.get(member) ?? [])]) this.#end(pause)
  }

  #end(pause: Pause): void {
    const pauses = this.#pauses.get(pause.member)
    pauses?.delete(pause)
    if (pauses?.size === 0) this.#pauses.delete(pause.member)
    this.#held.delete(pause.sender)
    pause.cancel()
    pause.source.release()
  }
}
