import { type MemoryBudget, shareOf } from './memory-budget.js'
import type { NumberedFrame } from './shared-codec.js'

/** Most messages and bytes that wait for one client's acknowledgement. (Client specification, "Buffer limit".) */
export const MOST_UNACKED_MESSAGES = 1_000
export const MOST_UNACKED_BYTES = 16 * 1024 * 1024
/**
 * With more than that a client lags behind, and senders should wait for it. The rest is for those who send at the same
 * time: one message of each, or a few large ones.
 */
const LAGGING = { messages: 750, bytes: 8 * 1024 * 1024 }
/** With no more than that it has caught up. */
const CAUGHT_UP = { messages: 250, bytes: 4 * 1024 * 1024 }

/** A group with no more than that, or with less than this part of what another has, is not what a client lags behind with. */
const MINOR = { messages: LAGGING.messages / 16, bytes: LAGGING.bytes / 16 }
const MINOR_PART = 1 / 4

/** What waits of one group. */
interface Amount {
  messages: number
  bytes: number
}

/**
 * The messages a client has not acknowledged, numbered 1, 2, 3, ... in the order they came. A message keeps its
 * number and its bytes, so that a repetition is recognised.
 */
export class Unacked {
  #frames: NumberedFrame[] = []
  #last = 0
  #bytes = 0
  /** By group; from the first call of `lagsIn` until the client has caught up. */
  #groups: Map<string | undefined, Amount> | undefined
  readonly #budget: MemoryBudget

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  /** The number given last, 0 before the first. */
  get last(): number {
    return this.#last
  }

  /** The number of the oldest message kept; one more than `last` when there is none. */
  get first(): number {
    return this.#last - this.#frames.length + 1
  }

  /** More than any honest client leaves unacknowledged. */
  get overflowed(): boolean {
    return this.#frames.length > MOST_UNACKED_MESSAGES || this.#bytes > MOST_UNACKED_BYTES
  }

  /** Whether it does not overflow with one more message. */
  hasRoomFor(frame: NumberedFrame): boolean {
    const bytes = this.#bytes + frame.sizeAt(this.#last + 1)
    return this.#frames.length < MOST_UNACKED_MESSAGES && bytes <= MOST_UNACKED_BYTES
  }

  /** How full it is, 0 for empty; above 1 it has overflowed. */
  get share(): number {
    return Math.max(this.#frames.length / MOST_UNACKED_MESSAGES, this.#bytes / MOST_UNACKED_BYTES)
  }

  /** Bytes that its client accounts for: of a message that several hold, a part. Takes time in proportion to their number. */
  get keptShare(): number {
    let bytes = 0
    for (const frame of this.#frames) bytes += shareOf(frame)
    return bytes
  }

  get lagging(): boolean {
    return this.#frames.length > LAGGING.messages || this.#bytes > LAGGING.bytes
  }

  /** Whether it lags behind with messages of a group, not only with those of others. */
  lagsIn(group: string | undefined): boolean {
    if (!this.lagging) return false
    const { messages, bytes } = this.#amounts.get(group) ?? { messages: 0, bytes: 0 }
    if (messages <= MINOR.messages && bytes <= MINOR.bytes) return false
    const all = [...this.#amounts.values()]
    return (
      all.every(other => messages >= other.messages * MINOR_PART) ||
      all.every(other => bytes >= other.bytes * MINOR_PART)
    )
  }

  get caughtUp(): boolean {
    return this.#frames.length <= CAUGHT_UP.messages && this.#bytes <= CAUGHT_UP.bytes
  }

  /** Numbers a message and keeps it. */
  add(frame: NumberedFrame): void {
    this.#budget.keep(frame)
    this.#frames.push(frame)
    if (this.#groups) count(this.#groups, frame, 1)
    this.#last++
    this.#bytes += frame.sizeAt(this.#last)
  }

  /** The message of a number, unless it is acknowledged or not given yet. */
  at(id: number): NumberedFrame | undefined {
    return this.#frames[id - this.first]
  }

  /** Lets go of everything up to a number, which must not be above `last`. */
  acknowledge(id: number): void {
    const first = this.first
    if (id < first) return
    const released = this.#frames.splice(0, id - first + 1)
    for (const [i, frame] of released.entries()) {
      this.#bytes -= frame.sizeAt(first + i)
      this.#budget.release(frame)
      if (this.#groups) count(this.#groups, frame, -1)
    }
    if (this.caughtUp) this.#groups = undefined
  }

  get #amounts(): ReadonlyMap<string | undefined, Amount> {
    if (this.#groups !== undefined) return this.#groups
    const groups = new Map<string | undefined, Amount>()
    for (const frame of this.#frames) count(groups, frame, 1)
    this.#groups = groups
    return groups
  }

  clear(): void {
    for (const frame of this.#frames) this.#budget.release(frame)
    this.#frames = []
    this.#bytes = 0
    this.#groups = undefined
  }
}

function count(groups: Map<string | undefined, Amount>, { group, size }: NumberedFrame, sign: 1 | -1): void {
  const amount = groups.get(group) ?? { messages: 0, bytes: 0 }
  amount.messages += sign
  amount.bytes += sign * size
  if (amount.messages === 0) groups.delete(group)
  else groups.set(group, amount)
}
