import type { Deadline } from '../../deadlines.js'
import type { AckError, DownFrame } from '../wire/frames.js'
import type { Connection } from './connection.js'
import type { Dialect, NumberedFrame } from './dialect.js'
import type { Identity } from './identity.js'
import type { Link } from './link.js'
import { Permissions } from './permissions.js'
import { RecentIds } from './recent-ids.js'
import { Unacked } from './unacked.js'

/** Most ids of successful requests that are remembered. (Client specification, "Deduplication".) */
const MOST_RECENT_IDS = 1_000
/** Shares of its limit: unacknowledged above the first it lags behind, up to the second it has caught up. */
const LAGGING = 0.5
const CAUGHT_UP = 0.25

/**
 * A client's state at the hub: what survives the loss of its network connection. It writes to the link it is attached
 * to, and knows nothing of other sessions.
 */
export class Session implements Connection {
  readonly connectionId: string
  readonly userId: string | undefined
  readonly dialect: Dialect
  readonly permissions: Permissions
  /** Names of its groups; the hub keeps the other side of it. */
  readonly joined = new Set<string>()
  /** Ids of requests that succeeded. */
  readonly recent = new RecentIds(MOST_RECENT_IDS)
  /** When a frame came last, ms of the hub's clock. */
  heardAt = 0
  /** When the hub looks at it next. */
  deadline: Deadline<Session> | undefined
  readonly #token: string
  readonly #unacked = new Unacked()
  #link: Link | undefined
  /** Number of the message to write next to this link. */
  #next = 1
  /** Highest number ever written to any link. */
  #written = 0
  #laggingAbove = LAGGING

  constructor(connectionId: string, token: string, dialect: Dialect, identity: Identity) {
    this.connectionId = connectionId
    this.#token = token
    this.dialect = dialect
    this.userId = identity.userId
    this.permissions = new Permissions(identity.roles)
  }

  get subprotocol(): string {
    return this.dialect.name
  }

  get groups(): readonly string[] {
    return [...this.joined]
  }

  get link(): Link | undefined {
    return this.#link
  }

  get attached(): boolean {
    return this.#link !== undefined
  }

  /** Whether more is unacknowledged than the hub keeps. */
  get overflowed(): boolean {
    return this.#unacked.overflowed
  }

  /** How much of what may be unacknowledged is; 1 is all. */
  get backlog(): number {
    return this.#unacked.share
  }

  /** Whether senders had better wait for it. Whoever is away is not waited for. */
  get lagging(): boolean {
    return this.attached && this.backlog > this.#laggingAbove
  }

  /** Whether there is no reason any more to wait for it. */
  get caughtUp(): boolean {
    return !this.attached || this.backlog <= CAUGHT_UP
  }

  /** It was waited for long enough: not again before it is further behind. */
  excuse(): void {
    this.#laggingAbove = this.backlog + CAUGHT_UP
  }

  /** Compares in a time that does not tell how much of the token was right. */
  hasToken(token: string): boolean {
    if (token.length !== this.#token.length) return false
    let difference = 0
    for (let i = 0; i < token.length; i++) difference |= token.charCodeAt(i) ^ this.#token.charCodeAt(i)
    return difference === 0
  }

  /** Takes a link for the first time: says who the client is. */
  open(link: Link): void {
    this.#link = link
    this.send({
      type: 'connected',
      connectionId: this.connectionId,
      userId: this.userId,
      reconnectionToken: this.#token,
    })
  }

  /** Goes on at another link: repeats what is unacknowledged before anything new. The former link is cut. */
  resume(link: Link): void {
    this.#link?.terminate()
    this.#link = link
    this.#next = this.#unacked.first
    this.pump()
  }

  /** Lets go of the link, which may be gone already. */
  detach(): Link | undefined {
    const link = this.#link
    this.#link = undefined
    return link
  }

  /** Numbers a message and writes it as soon as the link takes it. */
  deliver(frame: NumberedFrame): void {
    this.#unacked.add(frame)
    this.pump()
  }

  /** Writes what waits, as far as the link takes it. */
  pump(): void {
    const link = this.#link
    while (link?.writable) {
      const frame = this.#unacked.at(this.#next)
      if (frame === undefined) return
      link.send(frame.frameAt(this.#next))
      this.#written = Math.max(this.#written, this.#next)
      this.#next++
    }
  }

  /** What comes from the client: everything up to this id arrived. An id never written is a client's bug: no effect. */
  acknowledge(id: bigint): void {
    if (id > BigInt(this.#written)) return
    this.#unacked.acknowledge(Number(id))
    // A client that recovers may acknowledge what the former link brought before it is repeated.
    this.#next = Math.max(this.#next, this.#unacked.first)
    if (this.caughtUp) this.#laggingAbove = LAGGING
  }

  /** Writes a frame without a number; it is lost when there is no link. */
  send(frame: DownFrame): void {
    this.#link?.send(this.dialect.encode(frame))
  }

  /** Answers a request, if it asked for that, and remembers it if it succeeded. */
  answer(ackId: bigint | undefined, error?: AckError): void {
    if (ackId === undefined) return
    if (error === undefined) this.recent.add(ackId)
    this.send({ type: 'ack', ackId, success: error === undefined, error })
  }

  pong(): void {
    this.#link?.send(this.dialect.pong)
  }

  /** Lets go of everything that takes memory. */
  dispose(): void {
    this.#unacked.clear()
  }
}
