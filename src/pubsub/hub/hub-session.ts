import type { Deadline } from '../../core/util/deadlines.js'
import { chargedBytesPerHolder, type MemoryBudget } from '../../node/limits/memory-budget.js'
import type { AckError, DownFrame, RefusedCall } from '../wire/frames.js'
import { Lag } from './backpressure.js'
import type { HubLink } from './hub-link.js'
import type { Connection, OwnedIdentity } from './identity.js'
import { Permissions } from './permissions.js'
import type { NumberedFrame, SharedCodec } from './shared-codec.js'

/** The maximum number of remembered ids of successful requests. (Client specification, "Deduplication".) */
const MAX_RECENT_IDS = 1_000

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
  /** Whether this session is too slow for its senders. */
  readonly lag: Lag
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

  constructor(connectionId: string, token: string, codec: SharedCodec, identity: OwnedIdentity, budget: MemoryBudget) {
    this.#replayBuffer = new ReplayBuffer(budget)
    this.lag = new Lag(this.#replayBuffer)
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

  /** The bytes charged to the session, including its share of messages kept for several sessions. */
  get chargedBytes(): number {
    return this.#replayBuffer.chargedBytes + this.membershipBytes
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
    this.lag.onQueued(frame, now)
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
    this.lag.onAcknowledged(this.#replayBuffer.acknowledge(Number(id)), this.lastReceivedAt)
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
/** Keeps unacknowledged messages, numbered from 1. A repeated message has the same id and bytes. */
export class ReplayBuffer {
  #frames: NumberedFrame[] = []
  #lastId = 0
  #bytes = 0
  readonly #budget: MemoryBudget

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get frames(): readonly NumberedFrame[] {
    return this.#frames
  }

  /** The size of all messages kept. */
  get bytes(): number {
    return this.#bytes
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

  add(frame: NumberedFrame): void {
    this.#budget.addHolder(frame)
    this.#frames.push(frame)
    this.#lastId++
    this.#bytes += frame.sizeAt(this.#lastId)
  }

  at(id: number): NumberedFrame | undefined {
    return this.#frames[id - this.firstId]
  }

  /** Releases all messages up to an id, which must not exceed `lastId`, and returns them. */
  acknowledge(id: number): readonly NumberedFrame[] {
    const first = this.firstId
    if (id < first) return []
    const released = this.#frames.splice(0, id - first + 1)
    for (const [i, frame] of released.entries()) {
      this.#bytes -= frame.sizeAt(first + i)
      this.#budget.removeHolder(frame)
    }
    return released
  }

  clear(): void {
    for (const frame of this.#frames) this.#budget.removeHolder(frame)
    this.#frames = []
    this.#bytes = 0
  }
}
