import type { PubSubClient } from 'rx-statestore/pubsub'
import type { Subscription } from 'rxjs'
import type { HubHost } from './hub-host.js'
import { idOf } from './hub-host.js'
import type { Stay } from './stay.js'
import { judgeStay, newStay } from './stay.js'
import type { World } from './world.js'

export type Ear = { subscription: Subscription; stay: Stay | undefined }

/** Maximum lag of the witnesses, ms. */
const LAG = 3_000

/** Records what one client receives, by group and session. */
export class Listening {
  #world
  #hub
  #name
  #client
  #connectionId: string | undefined
  #connected = false
  /** By group. */
  #ears: Map<number, Ear> = new Map()
  /** Groups whose memberships in the current session are not completely received yet. */
  #memberships: Set<number> = new Set()

  constructor(world: World, hub: HubHost, name: string, client?: PubSubClient) {
    this.#world = world
    this.#hub = hub
    this.#name = name
    this.#client = client
    client?.status$.subscribe(status => {
      const wasConnected = this.#connected
      this.#connected = status.state === 'connected'
      if (status.state === 'connected') this.#meet(status.connectionId, wasConnected)
    })
    // The hub ended a membership, and all its messages have arrived.
    client?.serverMessages$.subscribe({ next: ({ data }) => this.#memberships.delete(Number(data)), error: () => {} })
  }

  /** Returns whether the client is connected and a member of exactly the groups it listens to. */
  get isSettled() {
    const groups = Array.from(this.#ears.keys())
    return this.#connected && groups.length === this.#memberships.size && groups.every(g => this.#memberships.has(g))
  }

  /** Starts or stops listening to a group. */
  turn(group: number) {
    const ear = this.#ears.get(group)
    if (ear !== undefined) {
      ear.subscription.unsubscribe()
      this.#ears.delete(group)
      this.#judgeLater(ear.stay)
      // While messages of the previous membership may still arrive, the next one would start with some of them.
    } else if (!this.#memberships.has(group)) this.#listen(group)
  }

  /** Records a change of a membership by the hub. */
  told(type: 'joined' | 'left', connectionId: string, group: number, at: number) {
    // The change may belong to a previous session that the hub still keeps.
    if (this.#connectionId !== undefined && connectionId !== this.#connectionId) return
    if (type === 'joined') this.#memberships.add(group)
    const stay = this.#ears.get(group)?.stay
    if (type === 'joined' && stay?.connectionId === connectionId) stay.joinedAt = at
  }

  /** @param isLast - whether all activity has ended */
  end(isLast: boolean) {
    for (const { stay, subscription } of this.#ears.values()) {
      subscription.unsubscribe()
      if (stay && isLast) judgeStay(stay, this.#world, true)
      else this.#judgeLater(stay)
    }
    this.#ears.clear()
  }

  #listen(group: number) {
    const { messages$, gaps$ } = this.#client?.group(String(group)) ?? {}
    let ear: Ear | undefined
    // Gaps first, because they are emitted on joining.
    const subscription = gaps$?.subscribe(() => {
      this.#world.counts.gaps++
      if (ear?.stay) ear.stay.owed = false
    })
    if (subscription === undefined) return
    ear = { subscription, stay: this.#stayIn(group, false) }
    this.#ears.set(group, ear)
    subscription.add(
      messages$?.subscribe({
        next: ({ data }) => this.#hear(group, idOf(data)),
        error: error => error.code !== 'closed' && this.#world.complaints.add('a group that ended', error),
      }),
    )
  }

  #hear(group: number, id: number) {
    this.#world.counts.delivered++
    this.#ears.get(group)?.stay?.seen.push(id)
  }

  #meet(connectionId: string, wasConnected: boolean) {
    const { counts } = this.#world
    if (connectionId === this.#connectionId) {
      if (!wasConnected) counts.recoveries++
      return
    }
    counts.sessions++
    this.#connectionId = connectionId
    this.#memberships.clear()
    for (const [group, ear] of this.#ears) {
      const before = ear.stay
      ear.stay = this.#stayIn(group, before !== undefined && (before.owed || before.seen.length > 0))
      this.#judgeLater(before)
    }
  }

  #stayIn(group: number, owed: boolean) {
    const connectionId = this.#connectionId
    if (connectionId === undefined) return undefined
    return newStay({ client: this.#name, connectionId, life: this.#hub.life, group, owed })
  }

  #judgeLater(stay: Stay | undefined) {
    if (stay) setTimeout(() => judgeStay(stay, this.#world, false), LAG).unref()
  }
}
