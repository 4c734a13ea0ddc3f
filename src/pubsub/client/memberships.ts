import type { StateStoreError } from '../../core/util/errors.js'
import { isTransient } from '../../core/util/transient-errors.js'
import type { Action, RequestOutcome } from './events.js'
import type { InFlightRequest } from './in-flight-request.js'
import type { SendQueue } from './send-queue.js'

interface Membership {
  readonly group: string
  latestMember: object
  isWanted: boolean
  /** Whether the hub has joined the client to the group, or `undefined` after a request whose outcome is unknown. */
  isJoined: boolean | undefined
  pendingType: 'joinGroup' | 'leaveGroup' | undefined
  request: InFlightRequest | undefined
  /** The start of the gap if the group was joined in a session that was lost. */
  missedSince: number | undefined
}

/**
 * Reconciles the wanted groups with the joined groups. At most one request per group is in flight, and its outcome
 * decides whether another request is needed. A recovered session keeps its groups. In a new session, the wanted groups
 * are joined again ("Reconnection"). Pure. All times are in ms.
 */
export class Memberships {
  readonly #sendQueue: SendQueue
  readonly #timeout: number
  readonly #act: (action: Action) => void
  readonly #all = new Map<string, Membership>()
  #isConnected = false

  constructor(sendQueue: SendQueue, timeout: number, act: (action: Action) => void) {
    this.#sendQueue = sendQueue
    this.#timeout = timeout
    this.#act = act
  }

  join(group: string, member: object, now: number): void {
    const membership = this.#all.get(group) ?? newMembership(group, member)
    this.#all.set(group, membership)
    membership.latestMember = member
    membership.isWanted = true
    this.#settle(membership, now)
  }

  leave(group: string, now: number): void {
    const membership = this.#all.get(group)
    if (membership === undefined) return
    membership.isWanted = false
    membership.missedSince = undefined
    this.#settle(membership, now)
  }

  /** Handles a message, which proves that the group is joined even if the join's acknowledgement is lost or late. */
  onMessage(group: string): void {
    const membership = this.#all.get(group)
    if (membership) this.#reportGap(membership)
  }

  resume(now: number): void {
    this.#isConnected = true
    for (const membership of Array.from(this.#all.values())) this.#settle(membership, now)
  }

  suspend(): void {
    this.#isConnected = false
  }

  onSessionLost(since: number): void {
    for (const membership of Array.from(this.#all.values())) {
      if (mayBeJoined(membership)) membership.missedSince ??= since
      if (membership.request) this.#sendQueue.forget(membership.request)
      membership.request = undefined
      membership.pendingType = undefined
      membership.isJoined = false
      if (!membership.isWanted) this.#all.delete(membership.group)
    }
  }

  close(): void {
    this.suspend()
    for (const { request } of this.#all.values()) if (request) this.#sendQueue.forget(request)
    this.#all.clear()
  }

  #settle(membership: Membership, now: number): void {
    if (!this.#isConnected || membership.pendingType) return
    if (membership.isWanted !== membership.isJoined) this.#request(membership, now)
    else if (!membership.isWanted) this.#all.delete(membership.group)
  }

  #request(membership: Membership, now: number): void {
    const { group, isWanted } = membership
    const type = isWanted ? 'joinGroup' : 'leaveGroup'
    membership.pendingType = type
    membership.request = this.#sendQueue.post(
      {
        frame: { type, group },
        ack: true,
        timeout: this.#timeout,
        atLeastOnce: false,
        urgent: true,
        onSettled: (outcome, then) => this.#onSettled(membership, outcome, then),
      },
      now,
    )
  }

  #onSettled(membership: Membership, outcome: RequestOutcome, now: number): void {
    const isJoin = membership.pendingType === 'joinGroup'
    membership.pendingType = undefined
    membership.request = undefined
    if (outcome.ok && isJoin) this.#markJoined(membership)
    else if (outcome.ok) membership.isJoined = false
    else this.#onFailed(membership, isJoin, outcome.error)
    this.#settle(membership, now)
  }

  #markJoined(membership: Membership): void {
    membership.isJoined = true
    this.#reportGap(membership)
  }

  #reportGap(membership: Membership): void {
    const { group, missedSince } = membership
    membership.missedSince = undefined
    if (missedSince !== undefined) this.#act({ type: 'gap', group, since: missedSince })
  }

  #onFailed(membership: Membership, isJoin: boolean, error: StateStoreError): void {
    const isRejected = isJoin && !isTransient(error)
    // The hub may have processed the request, so it must be sent again.
    if (error.code === 'outcome-unknown') membership.isJoined = undefined
    const { group, latestMember: member, isWanted, missedSince } = membership
    // The failure is reported first, so that a listener of the report below may join again.
    if (isRejected && isWanted) this.#act({ type: 'groupFailed', group, member, error })
    if (!isRejected || missedSince !== undefined) this.#act({ type: 'report', error })
    // A group that cannot be left is ignored, and its messages are dropped.
    if (!isJoin && !isTransient(error)) membership.isJoined = false
    if (isRejected) membership.isWanted = false
  }
}

/** Returns whether the group may be joined. After a join without acknowledgement, messages may already have arrived. */
const mayBeJoined = ({ isJoined, pendingType, request }: Membership): boolean =>
  isJoined !== false || (pendingType === 'joinGroup' && request?.state === 'sent')

const newMembership = (group: string, member: object): Membership => ({
  group,
  latestMember: member,
  isWanted: true,
  isJoined: false,
  pendingType: undefined,
  request: undefined,
  missedSince: undefined,
})
