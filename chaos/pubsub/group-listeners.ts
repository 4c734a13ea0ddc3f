import type { PubSubClient } from 'rx-statestore/pubsub'
import { Subscription } from 'rxjs'
import { now } from '../now.js'
import { type HubHost, idOf, type PubSubContext } from './hub-host.js'

interface GroupListener {
  readonly subscription: Subscription
  /** the membership in the current session, if there is a session */
  membership: number | undefined
}

let membershipCount = 0

/** Records the messages that one client receives, by group and session. */
export class GroupListeners {
  #context
  #hub
  #name
  #client
  #session: string | undefined
  #isConnected = false
  #listeners: Map<number, GroupListener> = new Map()
  /** The groups whose memberships in the current session are not completely received yet. */
  #memberships: Set<number> = new Set()

  constructor(context: PubSubContext, hub: HubHost, name: string, client: PubSubClient) {
    this.#context = context
    this.#hub = hub
    this.#name = name
    this.#client = client
    client.status$.subscribe(status => {
      const wasConnected = this.#isConnected
      this.#isConnected = status.state === 'connected'
      if (status.state === 'connected') this.#handleConnected(status.connectionId, wasConnected)
    })
    // The hub ended a membership, and all its messages have arrived.
    client.serverMessages$.subscribe({ next: ({ data }) => this.#memberships.delete(Number(data)), error: () => {} })
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
      // While messages of the previous membership may still arrive, a new membership would start with some of them.
    } else if (!this.#memberships.has(group)) this.#listen(group)
  }

  recordMembership(type: 'joined' | 'left', session: string, group: number) {
    // The change may belong to a previous session that the hub still keeps.
    if (type === 'left' || (this.#session !== undefined && session !== this.#session)) return
    this.#memberships.add(group)
    const { membership } = this.#listeners.get(group) ?? {}
    if (membership !== undefined) this.#context.recorder.write({ type: 'joined', membership, at: now() })
  }

  /**
   * Ends all memberships.
   *
   * @param isLast - whether all activity has ended
   */
  end(isLast: boolean) {
    for (const { membership, subscription } of this.#listeners.values()) {
      subscription.unsubscribe()
      if (isLast && membership !== undefined) this.#context.recorder.write({ type: 'complete', membership })
    }
    this.#listeners.clear()
  }

  #listen(group: number) {
    const { recorder, tally, violations } = this.#context
    const { messages$, gaps$ } = this.#client.group(String(group))
    const listener: GroupListener = { subscription: new Subscription(), membership: this.#startMembership(group) }
    this.#listeners.set(group, listener)
    // Gaps are subscribed to first, because they are emitted on joining.
    listener.subscription.add(
      gaps$.subscribe(() => {
        tally.add('gaps')
        if (listener.membership !== undefined) recorder.write({ type: 'gap', membership: listener.membership })
      }),
    )
    listener.subscription.add(
      messages$.subscribe({
        next: ({ data }) => {
          tally.add('delivered')
          if (listener.membership !== undefined)
            recorder.write({ type: 'received', membership: listener.membership, id: idOf(data) })
        },
        error: error => error.code !== 'closed' && violations.add('a group that ended', error),
      }),
    )
  }

  #handleConnected(session: string, wasConnected: boolean) {
    const { tally } = this.#context
    if (session === this.#session) {
      if (!wasConnected) tally.add('recoveries')
      return
    }
    tally.add('sessions')
    this.#session = session
    this.#memberships.clear()
    for (const [group, listener] of this.#listeners)
      listener.membership = this.#startMembership(group, listener.membership)
  }

  #startMembership(group: number, previous?: number) {
    const session = this.#session
    if (session === undefined) return undefined
    const id = membershipCount++
    const membership = { client: this.#name, session, run: this.#hub.run, group }
    this.#context.recorder.write({ type: 'membership', id, previous, ...membership })
    return id
  }
}
