import type { StateStoreError } from '../../core/util/errors.js'
import type { Action, RequestOutcome } from './events.js'
import type { InFlightRequest } from './in-flight-request.js'
import type { SendQueue } from './send-queue.js'

interface Membership {
  readonly group: string
  /** Identifies the latest join. */
  member: object
  wanted: boolean
  /** Whether the hub has joined the group; `undefined` after a request whose outcome is unknown. */
  joined: boolean | undefined
  asked: 'joinGroup' | 'leaveGroup' | undefined
  posting: InFlightRequest | undefined
  /** Start of the gap: the group was joined in a session that was lost. */
  missedSince: number | undefined
}

/**
 * Reconciles the wanted groups with the joined ones. At most one request per group is in flight; its outcome decides
 * whether another one is needed. A recovered session keeps its groups; in a new one the wanted groups are joined again
 * ("Reconnection"). Pure; times in ms.
 */
export class Memberships {
  readonly #sendQueue: SendQueue
  readonly #timeout: number
  readonly #act: (action: Action) => void
  readonly #all = new Map<string, Membership>()
  #live = false

  constructor(sendQueue: SendQueue, timeout: number, act: (action: Action) => void) {
    this.#sendQueue = sendQueue
    this.#timeout = timeout
    this.#act = act
  }

  join(group: string, member: object, now: number): void {
    const membership = this.#all.get(group) ?? newMembership(group, member)
    this.#all.set(group, membership)
    membership.member = member
    membership.wanted = true
    this.#settle(membership, now)
  }

  leave(group: string, now: number): void {
    const membership = this.#all.get(group)
    if (membership === undefined) return
    membership.wanted = false
    membership.missedSince = undefined
    this.#settle(membership, now)
  }

  /** A message proves that the group is joined, even if the join's acknowledgement is lost or late. */
  heard(group: string): void {
    const membership = this.#all.get(group)
    if (membership) this.#tellGap(membership)
  }

  resume(now: number): void {
    this.#live = true
    for (const membership of Array.from(this.#all.values())) this.#settle(membership, now)
  }

  /** Called when the socket is lost; requests stay pending. */
  suspend(): void {
    this.#live = false
  }

  sessionLost(since: number): void {
    for (const membership of Array.from(this.#all.values())) {
      if (mayBeJoined(membership)) membership.missedSince ??= since
      if (membership.posting) this.#sendQueue.forget(membership.posting)
      membership.posting = undefined
      membership.asked = undefined
      membership.joined = false
      if (!membership.wanted) this.#all.delete(membership.group)
    }
  }

  close(): void {
    this.suspend()
    for (const { posting } of this.#all.values()) if (posting) this.#sendQueue.forget(posting)
    this.#all.clear()
  }

  #settle(membership: Membership, now: number): void {
    if (!this.#live || membership.asked) return
    if (membership.wanted !== membership.joined) this.#ask(membership, now)
    else if (!membership.wanted) this.#all.delete(membership.group)
  }

  #ask(membership: Membership, now: number): void {
    const { group, wanted } = membership
    const type = wanted ? 'joinGroup' : 'leaveGroup'
    membership.asked = type
    membership.posting = this.#sendQueue.post(
      {
        frame: { type, group },
        ack: true,
        timeout: this.#timeout,
        atLeastOnce: false,
        urgent: true,
        settled: (outcome, then) => this.#answered(membership, outcome, then),
      },
      now,
    )
  }

  #answered(membership: Membership, outcome: RequestOutcome, now: number): void {
    const joining = membership.asked === 'joinGroup'
    membership.asked = undefined
    membership.posting = undefined
    if (outcome.ok && joining) this.#joined(membership)
    else if (outcome.ok) membership.joined = false
    else this.#failed(membership, joining, outcome.error)
    this.#settle(membership, now)
  }

  #joined(membership: Membership): void {
    membership.joined = true
    this.#tellGap(membership)
  }

  #tellGap(membership: Membership): void {
    const { group, missedSince } = membership
    membership.missedSince = undefined
    if (missedSince !== undefined) this.#act({ type: 'gap', group, since: missedSince })
  }

  #failed(membership: Membership, joining: boolean, error: StateStoreError): void {
    const refused = joining && !isPassing(error)
    // The hub may have processed the request, so it must be sent again.
    if (error.code === 'outcome-unknown') membership.joined = undefined
    const { group, member, wanted, missedSince } = membership
    // First, so that a listener of the report below may join again.
    if (refused && wanted) this.#act({ type: 'groupFailed', group, member, error })
    if (!refused || missedSince !== undefined) this.#act({ type: 'report', error })
    // A group that cannot be left is ignored: its messages are dropped.
    if (!joining && !isPassing(error)) membership.joined = false
    if (refused) membership.wanted = false
  }
}

/** Includes a join whose acknowledgement was lost: messages may have arrived before it. */
const mayBeJoined = ({ joined, asked, posting }: Membership): boolean =>
  joined !== false || (asked === 'joinGroup' && posting?.state === 'sent')

/** Timeouts, which are retried. */
const isPassing = ({ code }: StateStoreError): boolean => code === 'timeout' || code === 'outcome-unknown'

const newMembership = (group: string, member: object): Membership => ({
  group,
  member,
  wanted: true,
  joined: false,
  asked: undefined,
  posting: undefined,
  missedSince: undefined,
})
