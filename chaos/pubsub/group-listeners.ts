import type { PubSubClient } from 'rx-statestore/pubsub'
import type { Subscription } from 'rxjs'
import type { PubSubChaosContext } from './context.js'
import type { GroupMembership } from './group-membership.js'
import { checkMembership, newMembership } from './group-membership.js'
import type { HubHost } from './hub-host.js'
import { idOf } from './hub-host.js'

export type GroupListener = { subscription: Subscription; membership: GroupMembership | undefined }

/** The maximum lag of the witnesses in ms. */
const MAX_WITNESS_LAG_MS = 3_000

/** Records the messages that one client receives, by group and session. */
export class GroupListeners {
  #context
  #hub
  #name
  #client
  #connectionId: string | undefined
  #isConnected = false
  #listeners: Map<number, GroupListener> = new Map()
  /** The groups whose memberships in the current session are not completely received yet. */
  #memberships: Set<number> = new Set()

  constructor(context: PubSubChaosContext, hub: HubHost, name: string, client?: PubSubClient) {
    this.#context = context
    this.#hub = hub
    this.#name = name
    this.#client = client
    client?.status$.subscribe(status => {
      const wasConnected = this.#isConnected
      this.#isConnected = status.state === 'connected'
      if (status.state === 'connected') this.#handleConnected(status.connectionId, wasConnected)
    })
    // The hub ended a membership, and all its messages have arrived.
    client?.serverMessages$.subscribe({ next: ({ data }) => this.#memberships.delete(Number(data)), error: () => {} })
  }

  /** Returns whether the client is connected and a member of exactly the groups it listens to. */
  get isSettled() {
    const groups = Array.from(this.#listeners.keys())
    return this.#isConnected && groups.length === this.#memberships.size && groups.every(g => this.#memberships.has(g))
  }

  toggle(group: number) {
    const listener = this.#listeners.get(group)
    if (listener !== undefined) {
      listener.subscription.unsubscribe()
      this.#listeners.delete(group)
      this.#checkLater(listener.membership)
      // While messages of the previous membership may still arrive, a new membership would start with some of them.
    } else if (!this.#memberships.has(group)) this.#listen(group)
  }

  recordMembership(type: 'joined' | 'left', connectionId: string, group: number, at: number) {
    // The change may belong to a previous session that the hub still keeps.
    if (this.#connectionId !== undefined && connectionId !== this.#connectionId) return
    if (type === 'joined') this.#memberships.add(group)
    const membership = this.#listeners.get(group)?.membership
    if (type === 'joined' && membership?.connectionId === connectionId) membership.joinedAt = at
  }

  /**
   * Ends all memberships.
   *
   * @param isLast - whether all activity has ended
   */
  end(isLast: boolean) {
    for (const { membership, subscription } of this.#listeners.values()) {
      subscription.unsubscribe()
      if (membership && isLast) checkMembership(membership, this.#context, true)
      else this.#checkLater(membership)
    }
    this.#listeners.clear()
  }

  #listen(group: number) {
    const { messages$, gaps$ } = this.#client?.group(String(group)) ?? {}
    let listener: GroupListener | undefined
    // Gaps are subscribed to first, because they are emitted on joining.
    const subscription = gaps$?.subscribe(() => {
      this.#context.counts.gaps++
      if (listener?.membership) listener.membership.isGapOwed = false
    })
    if (subscription === undefined) return
    listener = { subscription, membership: this.#startMembership(group, false) }
    this.#listeners.set(group, listener)
    subscription.add(
      messages$?.subscribe({
        next: ({ data }) => this.#recordMessage(group, idOf(data)),
        error: error => error.code !== 'closed' && this.#context.violations.add('a group that ended', error),
      }),
    )
  }

  #recordMessage(group: number, id: number) {
    this.#context.counts.delivered++
    this.#listeners.get(group)?.membership?.seen.push(id)
  }

  #handleConnected(connectionId: string, wasConnected: boolean) {
    const { counts } = this.#context
    if (connectionId === this.#connectionId) {
      if (!wasConnected) counts.recoveries++
      return
    }
    counts.sessions++
    this.#connectionId = connectionId
    this.#memberships.clear()
    for (const [group, listener] of this.#listeners) {
      const before = listener.membership
      listener.membership = this.#startMembership(
        group,
        before !== undefined && (before.isGapOwed || before.seen.length > 0),
      )
      this.#checkLater(before)
    }
  }

  #startMembership(group: number, isGapOwed: boolean) {
    const connectionId = this.#connectionId
    if (connectionId === undefined) return undefined
    return newMembership({ client: this.#name, connectionId, run: this.#hub.run, group, isGapOwed })
  }

  #checkLater(membership: GroupMembership | undefined) {
    if (membership) setTimeout(() => checkMembership(membership, this.#context, false), MAX_WITNESS_LAG_MS).unref()
  }
}
