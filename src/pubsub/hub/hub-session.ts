import type { Deadline } from '../../core/util/deadlines.js'
import { chargedBytesPerHolder, type MemoryBudget } from '../../node/limits/memory-budget.js'
import type { AckError, DownFrame, RefusedCall } from '../wire/frames.js'
import type { HubLink } from './hub-link.js'
import type { Connection, OwnedIdentity } from './identity.js'
import { Permissions } from './permissions.js'
import type { NumberedFrame, SharedCodec } from './shared-codec.js'

/** The maximum number of remembered ids of successful requests. (Client specification, "Deduplication".) */
const MAX_RECENT_IDS = 1_000

/**
 * A session's progress. `ignored`: the session is still behind, but senders no longer wait for it. `at`: the time
 * in ms when the lag began or the last acknowledgement since then arrived.
 */
type Progress =
  | { readonly state: 'caughtUp' }
  | { readonly state: 'behind'; readonly at: number }
  | { readonly state: 'ignored'; readonly at: number }

const CAUGHT_UP: Progress = { state: 'caughtUp' }

/**
 * The state of a client that survives the loss of the client's network connection. Sessions are independent of each
 * other.
 */
export class HubSession implements Connection {
  readonly connectionId: string
  readonly userId: string | undefined
  /** The owner of the session's memory quota: the user, or the address if the session has no user id. */
  readonly owner: string
  readonly codec: SharedCodec
  readonly permissions: Permissions
  /** The names of the session's groups. {@link SessionIndex} keeps the reverse index. */
  readonly groupNames = new Set<string>()
  membershipBytes = 0
  readonly recentIds = new RecentIds(MAX_RECENT_IDS)
  /** The address of the client's last connection. */
  address: string | undefined
  lastReceivedAt = 0
  deadline: Deadline<HubSession> | undefined
  readonly #token: string
  readonly #replayBuffer: ReplayBuffer
  #link: HubLink | undefined
  /** The id of the next message to write to this link. */
  #nextId = 1
  /** The highest id written to any link. */
  #highestWritten = 0
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
    return [...this.groupNames]
  }

  get link(): HubLink | undefined {
    return this.#link
  }

  get attached(): boolean {
    return this.#link !== undefined
  }

  get hasOverflowed(): boolean {
    return this.#replayBuffer.hasOverflowed
  }

  /** The fill ratio of the session's unacknowledged messages. 1 is the limit. */
  get fillRatio(): number {
    return this.#replayBuffer.fillRatio
  }

  hasRoomFor(frame: NumberedFrame): boolean {
    return this.#replayBuffer.hasRoomFor(frame)
  }

  /** Returns whether senders to a group should wait for this session. Always false for a detached session. */
  lagsIn(group: string): boolean {
    return this.attached && this.#progress.state !== 'ignored' && this.#replayBuffer.lagsIn(group)
  }

  /** Returns whether the session has lagged for `duration` ms without any acknowledgement. */
  isStalled(duration: number, now: number): boolean {
    return this.#progress.state !== 'caughtUp' && now - this.#progress.at >= duration
  }

  get isCaughtUp(): boolean {
    return !this.attached || this.#replayBuffer.isCaughtUp
  }

  /** The bytes charged to the session, including its share of messages kept for several sessions. */
  get chargedBytes(): number {
    return this.#replayBuffer.chargedBytes + this.membershipBytes
  }

  /** Stops senders from waiting for this session until it has caught up. */
  stopPausing(): void {
    if (this.#progress.state === 'behind') this.#progress = { state: 'ignored', at: this.#progress.at }
  }

  /** Returns whether the session has this token. The comparison takes constant time. */
  hasToken(token: string): boolean {
    if (token.length !== this.#token.length) return false
    let difference = 0
    for (let i = 0; i < token.length; i++) difference |= token.charCodeAt(i) ^ this.#token.charCodeAt(i)
    return difference === 0
  }

  open(link: HubLink): void {
    this.#link = link
    this.send({
      type: 'connected',
      connectionId: this.connectionId,
      userId: this.userId,
      reconnectionToken: this.#token,
    })
  }

  /** Attaches another link and terminates the former link. Resends unacknowledged messages first. */
  resume(link: HubLink): void {
    this.#link?.terminate()
    this.#link = link
    this.#nextId = this.#replayBuffer.firstId
    this.pump()
  }

  detach(): HubLink | undefined {
    const link = this.#link
    this.#link = undefined
    return link
  }

  deliver(frame: NumberedFrame, now: number): void {
    this.#replayBuffer.add(frame)
    if (this.#progress.state === 'caughtUp' && !this.#replayBuffer.isCaughtUp)
      this.#progress = { state: 'behind', at: now }
    this.pump()
  }

  pump(): void {
    const link = this.#link
    while (link !== undefined) {
      const frame = this.#replayBuffer.at(this.#nextId)
      if (frame === undefined || !link.canSend(frame.size)) return
      link.send(frame.frameAt(this.#nextId))
      this.#highestWritten = Math.max(this.#highestWritten, this.#nextId)
      this.#nextId++
    }
  }

  /**
   * Handles a sequence ack, which means that all messages up to the id arrived. Ignores an id that was never written,
   * which is a bug of the client.
   */
  acknowledge(id: bigint): void {
    if (id > BigInt(this.#highestWritten)) return
    const { firstId } = this.#replayBuffer
    this.#replayBuffer.acknowledge(Number(id))
    if (this.#replayBuffer.isCaughtUp) this.#progress = CAUGHT_UP
    else if (this.#replayBuffer.firstId > firstId)
      this.#progress = { state: this.#progress.state, at: this.lastReceivedAt }
    // A recovering client may acknowledge messages of the former link before they are resent.
    this.#nextId = Math.max(this.#nextId, this.#replayBuffer.firstId)
  }

  /** Writes an unnumbered frame, or discards the frame if there is no link. */
  send(frame: DownFrame | RefusedCall): void {
    this.#link?.send(this.codec.encode(frame))
  }

  /** Acknowledges a request that has an id, and remembers the id if the request was successful. */
  acknowledgeRequest(ackId: bigint | undefined, error?: AckError): void {
    if (ackId === undefined) return
    if (error === undefined) this.recentIds.add(ackId)
    this.send({ type: 'ack', ackId, success: error === undefined, error })
  }

  sendPong(): void {
    this.#link?.send(this.codec.pong)
  }

  dispose(): void {
    this.#replayBuffer.clear()
  }
}

const INITIAL_CAPACITY = 16

/**
 * Remembers the latest ids to detect duplicates. (Client specification, "Deduplication": the last 1000 successful ones
 * of a connection.) Each id takes 8 bytes. Clients increment their ids, so nearly all ids are higher than any id before
 * and need no search.
 */
export class RecentIds {
  readonly #capacity: number
  /** The ids as unsigned 64-bit integers. The array grows up to the capacity. */
  #ring: BigUint64Array
  #count = 0
  #next = 0
  #highest = -1n

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#ring = new BigUint64Array(Math.min(INITIAL_CAPACITY, capacity))
  }

  has(id: bigint): boolean {
    return id <= this.#highest && this.#ring.subarray(0, this.#count).includes(id)
  }

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

/** The maximum unacknowledged messages and bytes per client. (Client specification, "Buffer limit".) */
export const MAX_UNACKED_MESSAGES = 1_000
export const MAX_UNACKED_BYTES = 16 * 1024 * 1024
/**
 * The amount above which a client lags and senders should wait for it. The remaining space is for concurrent senders.
 */
const LAGS_ABOVE = { messages: 750, bytes: 8 * 1024 * 1024 }
/** The amount up to which a client has caught up. */
const CAUGHT_UP_BELOW = { messages: 250, bytes: 4 * 1024 * 1024 }

/**
 * The size up to which a group does not contribute to a client's lag, and the share of another group's amount below
 * which it does not.
 */
const MINOR_GROUP = { messages: LAGS_ABOVE.messages / 16, bytes: LAGS_ABOVE.bytes / 16 }
const MINOR_GROUP_RATIO = 1 / 4

interface Amount {
  messages: number
  bytes: number
}

/** Keeps unacknowledged messages, numbered from 1. A repeated message has the same id and bytes. */
export class ReplayBuffer {
  #frames: NumberedFrame[] = []
  #lastId = 0
  #bytes = 0
  /** The amounts by group, maintained from the first call of `lagsIn` until the client has caught up. */
  #groups: Map<string | undefined, Amount> | undefined
  readonly #budget: MemoryBudget

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  /** The last id assigned, or 0 before the first. */
  get lastId(): number {
    return this.#lastId
  }

  /** The id of the oldest message kept, or `lastId` + 1 if the buffer is empty. */
  get firstId(): number {
    return this.#lastId - this.#frames.length + 1
  }

  /** Returns whether the buffer exceeds the amount that any correct client leaves unacknowledged. */
  get hasOverflowed(): boolean {
    return this.#frames.length > MAX_UNACKED_MESSAGES || this.#bytes > MAX_UNACKED_BYTES
  }

  hasRoomFor(frame: NumberedFrame): boolean {
    const bytes = this.#bytes + frame.sizeAt(this.#lastId + 1)
    return this.#frames.length < MAX_UNACKED_MESSAGES && bytes <= MAX_UNACKED_BYTES
  }

  /** The fill ratio. 0 is empty, and a value above 1 means that the buffer has overflowed. */
  get fillRatio(): number {
    return Math.max(this.#frames.length / MAX_UNACKED_MESSAGES, this.#bytes / MAX_UNACKED_BYTES)
  }

  /** The bytes charged to the client, including its share of messages kept for several clients. Takes linear time. */
  get chargedBytes(): number {
    let bytes = 0
    for (const frame of this.#frames) bytes += chargedBytesPerHolder(frame)
    return bytes
  }

  get isLagging(): boolean {
    return this.#frames.length > LAGS_ABOVE.messages || this.#bytes > LAGS_ABOVE.bytes
  }

  /** Returns whether messages of this group contribute to the lag. */
  lagsIn(group: string | undefined): boolean {
    if (!this.isLagging) return false
    const { messages, bytes } = this.#amounts.get(group) ?? { messages: 0, bytes: 0 }
    if (messages <= MINOR_GROUP.messages && bytes <= MINOR_GROUP.bytes) return false
    const all = [...this.#amounts.values()]
    return (
      all.every(other => messages >= other.messages * MINOR_GROUP_RATIO) ||
      all.every(other => bytes >= other.bytes * MINOR_GROUP_RATIO)
    )
  }

  get isCaughtUp(): boolean {
    return this.#frames.length <= CAUGHT_UP_BELOW.messages && this.#bytes <= CAUGHT_UP_BELOW.bytes
  }

  add(frame: NumberedFrame): void {
    this.#budget.addHolder(frame)
    this.#frames.push(frame)
    if (this.#groups) addToAmounts(this.#groups, frame, 1)
    this.#lastId++
    this.#bytes += frame.sizeAt(this.#lastId)
  }

  at(id: number): NumberedFrame | undefined {
    return this.#frames[id - this.firstId]
  }

  /** Releases all messages up to an id, which must not exceed `lastId`. */
  acknowledge(id: number): void {
    const first = this.firstId
    if (id < first) return
    const released = this.#frames.splice(0, id - first + 1)
    for (const [i, frame] of released.entries()) {
      this.#bytes -= frame.sizeAt(first + i)
      this.#budget.removeHolder(frame)
      if (this.#groups) addToAmounts(this.#groups, frame, -1)
    }
    if (this.isCaughtUp) this.#groups = undefined
  }

  get #amounts(): ReadonlyMap<string | undefined, Amount> {
    if (this.#groups !== undefined) return this.#groups
    const groups = new Map<string | undefined, Amount>()
    for (const frame of this.#frames) addToAmounts(groups, frame, 1)
    this.#groups = groups
    return groups
  }

  clear(): void {
    for (const frame of this.#frames) this.#budget.removeHolder(frame)
    this.#frames = []
    this.#bytes = 0
    this.#groups = undefined
  }
}

function addToAmounts(groups: Map<string | undefined, Amount>, { group, size }: NumberedFrame, sign: 1 | -1): void {
  const amount = groups.get(group) ?? { messages: 0, bytes: 0 }
  amount.messages += sign
  amount.bytes += sign * size
  if (amount.messages === 0) groups.delete(group)
  else groups.set(group, amount)
}
