import type { Deadline } from '../../core/util/deadlines.js'
import type { AckError, DownFrame, RefusedCall } from '../wire/frames.js'
import type { HubLink } from './hub-link.js'
import type { Connection, OwnedIdentity } from './identity.js'
import { type MemoryBudget, shareOf } from './memory-budget.js'
import { Permissions } from './permissions.js'
import type { NumberedFrame, SharedCodec } from './shared-codec.js'

/** Most ids of successful requests that are remembered. (Client specification, "Deduplication".) */
const MOST_RECENT_IDS = 1_000

/**
 * Whether a client keeps up with what it is sent. One that is behind has more unacknowledged than one that has caught up;
 * if it is excused, senders have waited for it in vain. `at`: when it fell behind, or acknowledged something since, ms.
 */
type Progress =
  | { readonly state: 'caughtUp' }
  | { readonly state: 'behind'; readonly at: number }
  | { readonly state: 'excused'; readonly at: number }

const CAUGHT_UP: Progress = { state: 'caughtUp' }

/**
 * A client's state at the hub: what survives the loss of its network connection. It writes to the link it is attached
 * to, and knows nothing of other sessions.
 */
export class HubSession implements Connection {
  readonly connectionId: string
  readonly userId: string | undefined
  /** Accounts for what is held: its user, or the address of a session without a user id. */
  readonly owner: string
  readonly codec: SharedCodec
  readonly permissions: Permissions
  /** Names of its groups; the hub keeps the other side of it. */
  readonly joined = new Set<string>()
  /** What its memberships take, bytes. */
  membershipBytes = 0
  /** Ids of requests that succeeded. */
  readonly recent = new RecentIds(MOST_RECENT_IDS)
  /** From which its client connected last. */
  address: string | undefined
  /** When a frame came last, ms of the hub's clock. */
  heardAt = 0
  /** When the hub looks at it next. */
  deadline: Deadline<HubSession> | undefined
  readonly #token: string
  readonly #replayBuffer: ReplayBuffer
  #link: HubLink | undefined
  /** Number of the message to write next to this link. */
  #next = 1
  /** Highest number ever written to any link. */
  #written = 0
  #progress: Progress = CAUGHT_UP

  constructor(connectionId: string, token: string, codec: SharedCodec, identity: OwnedIdentity, budget: MemoryBudget) {
    this.#replayBuffer = new ReplayBuffer(budget)
    this.connectionId = connectionId
    this.owner = identity.owner ?? connectionId
    this.#token = token
    this.codec = codec
    this.userId = identity.userId
    this.permissions = new Permissions(identity.roles)
  }

  get subprotocol(): string {
    return this.codec.name
  }

  get groups(): readonly string[] {
    return [...this.joined]
  }

  get link(): HubLink | undefined {
    return this.#link
  }

  get attached(): boolean {
    return this.#link !== undefined
  }

  /** Whether more is unacknowledged than the hub keeps. */
  get overflowed(): boolean {
    return this.#replayBuffer.overflowed
  }

  /** How full its share of unacknowledged messages is; 1 is the limit. */
  get backlog(): number {
    return this.#replayBuffer.share
  }

  /** Whether it can be given a message and not overflow. */
  hasRoomFor(frame: NumberedFrame): boolean {
    return this.#replayBuffer.hasRoomFor(frame)
  }

  /** Whether senders to a group should wait for it. A client that is away is not waited for. */
  lagsIn(group: string): boolean {
    return this.attached && this.#progress.state !== 'excused' && this.#replayBuffer.lagsIn(group)
  }

  /** Whether it is behind, and has acknowledged nothing for so long, ms. */
  isStalled(duration: number, now: number): boolean {
    return this.#progress.state !== 'caughtUp' && now - this.#progress.at >= duration
  }

  /** Whether senders need not wait for it any longer. */
  get caughtUp(): boolean {
    return !this.attached || this.#replayBuffer.caughtUp
  }

  /** Its part of what is kept for it, alone or with others, bytes. */
  get keptShare(): number {
    return this.#replayBuffer.keptShare + this.membershipBytes
  }

  /** Senders have waited long enough, and do not wait again before it has caught up. */
  excuse(): void {
    if (this.#progress.state === 'behind') this.#progress = { state: 'excused', at: this.#progress.at }
  }

  /** Compares in a time that does not tell how much of the token was right. */
  hasToken(token: string): boolean {
    if (token.length !== this.#token.length) return false
    let difference = 0
    for (let i = 0; i < token.length; i++) difference |= token.charCodeAt(i) ^ this.#token.charCodeAt(i)
    return difference === 0
  }

  /** Takes its first link, and tells the client who it is. */
  open(link: HubLink): void {
    this.#link = link
    this.send({
      type: 'connected',
      connectionId: this.connectionId,
      userId: this.userId,
      reconnectionToken: this.#token,
    })
  }

  /** Goes on at another link: repeats what is unacknowledged before anything new. The former link is cut. */
  resume(link: HubLink): void {
    this.#link?.terminate()
    this.#link = link
    this.#next = this.#replayBuffer.first
    this.pump()
  }

  /** Gives up the link, which may be gone already. */
  detach(): HubLink | undefined {
    const link = this.#link
    this.#link = undefined
    return link
  }

  /** Numbers a message and writes it as soon as the link takes it. */
  deliver(frame: NumberedFrame, now: number): void {
    this.#replayBuffer.add(frame)
    if (this.#progress.state === 'caughtUp' && !this.#replayBuffer.caughtUp)
      this.#progress = { state: 'behind', at: now }
    this.pump()
  }

  /** Writes what waits, as far as the link takes it. */
  pump(): void {
    const link = this.#link
    while (link !== undefined) {
      const frame = this.#replayBuffer.at(this.#next)
      if (frame === undefined || !link.takes(frame.size)) return
      link.send(frame.frameAt(this.#next))
      this.#written = Math.max(this.#written, this.#next)
      this.#next++
    }
  }

  /** What comes from the client: everything up to this id arrived. An id that was never written is a client's bug, and has no effect. */
  acknowledge(id: bigint): void {
    if (id > BigInt(this.#written)) return
    const { first } = this.#replayBuffer
    this.#replayBuffer.acknowledge(Number(id))
    if (this.#replayBuffer.caughtUp) this.#progress = CAUGHT_UP
    else if (this.#replayBuffer.first > first) this.#progress = { state: this.#progress.state, at: this.heardAt }
    // A client that recovers may acknowledge what the former link brought before it is repeated.
    this.#next = Math.max(this.#next, this.#replayBuffer.first)
  }

  /** Writes a frame without a number; it is lost when there is no link. */
  send(frame: DownFrame | RefusedCall): void {
    this.#link?.send(this.codec.encode(frame))
  }

  /** Answers a request, if it asked for that, and remembers it if it succeeded. */
  answer(ackId: bigint | undefined, error?: AckError): void {
    if (ackId === undefined) return
    if (error === undefined) this.recent.add(ackId)
    this.send({ type: 'ack', ackId, success: error === undefined, error })
  }

  pong(): void {
    this.#link?.send(this.codec.pong)
  }

  /** Frees what it holds. */
  dispose(): void {
    this.#replayBuffer.clear()
  }
}

const FIRST_CAPACITY = 16

/**
 * The latest so many ids, to recognise one that comes again. (Client specification, "Deduplication": the last 1000
 * successful ones of a connection.) Takes 8 bytes for each. Clients count their ids, so that almost all are higher than
 * any before and need not be searched for.
 */
export class RecentIds {
  readonly #capacity: number
  /** Unsigned 64-bit integers; grows up to the capacity. */
  #ring: BigUint64Array
  #count = 0
  #next = 0
  #highest = -1n

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#ring = new BigUint64Array(Math.min(FIRST_CAPACITY, capacity))
  }

  has(id: bigint): boolean {
    return id <= this.#highest && this.#ring.subarray(0, this.#count).includes(id)
  }

  /** Remembers an id that is not known yet, and forgets the oldest for it if need be. */
  add(id: bigint): void {
    if (this.#count === this.#ring.length && this.#count < this.#capacity) this.#grow()
    this.#ring[this.#next] = id
    this.#next = (this.#next + 1) % this.#capacity
    this.#count = Math.min(this.#count + 1, this.#capacity)
    if (id > this.#highest) this.#highest = id
  }

  #grow(): void {
    const ring = new BigUint64Array(Math.min(2 * this.#ring.length, this.#capacity))
    ring.set(this.#ring)
    this.#ring = ring
  }
}

/** Most messages and bytes that wait for one client's acknowledgement. (Client specification, "Buffer limit".) */
export const MOST_UNACKED_MESSAGES = 1_000
export const MOST_UNACKED_BYTES = 16 * 1024 * 1024
/**
 * With more than that a client lags behind, and senders should wait for it. The rest is for those who send at the same
 * time: one message of each, or a few large ones.
 */
const LAGGING = { messages: 750, bytes: 8 * 1024 * 1024 }
/** With no more than that it has caught up. */
const KEEPS_UP = { messages: 250, bytes: 4 * 1024 * 1024 }

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
export class ReplayBuffer {
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
    return this.#frames.length <= KEEPS_UP.messages && this.#bytes <= KEEPS_UP.bytes
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
