import type { PubSubClient } from 'rx-statestore/pubsub'
import type { Subscription } from 'rxjs'
import type { HubHost } from './hub-host.js'
import { idOf } from './hub-host.js'
import type { Stay } from './stay.js'
import { judgeStay, newStay } from './stay.js'
import type { World } from './world.js'

export type Ear = { subscription: Subscription; stay: Stay | undefined }

/** So long the witnesses may be behind, ms. */
const LAG = 3_000

/** What one client hears, group by group and session by session. */
export class Listening {
  #world
  #hub
  #name
  #client
  #connectionId: string | undefined
  #connected = false
  /** By group. */
  #ears: Map<number, Ear> = new Map()
  /** Groups the hub has it in, in its present session, as far as what it got as a member is not all there. */
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
    // The hub has ended a membership, and nothing of it is on the way any more.
    client?.serverMessages$.subscribe({ next: ({ data }) => this.#memberships.delete(Number(data)), error: () => {} })
  }

  /** Whether it is connected, and the hub has it in the groups it listens to. */
  get isSettled() {
    const groups = Array.from(this.#ears.keys())
    return this.#connected && groups.length === this.#memberships.size && groups.every(g => this.#memberships.has(g))
  }

  /** Begins to listen to a group, or ends that. */
  turn(group: number) {
    const ear = this.#ears.get(group)
    if (ear !== undefined) {
      ear.subscription.unsubscribe()
      this.#ears.delete(group)
      this.#judgeLater(ear.stay)
      // As long as something of the last stay is on the way, the next one would begin with a part of it.
    } else if (!this.#memberships.has(group)) this.#listen(group)
  }

  /** The hub has changed a membership. */
  told(type: 'joined' | 'left', connectionId: string, group: number, at: number) {
    // A session that the hub still keeps while the client has another one.
    if (this.#connectionId !== undefined && connectionId !== this.#connectionId) return
    if (type === 'joined') this.#memberships.add(group)
    const stay = this.#ears.get(group)?.stay
    if (type === 'joined' && stay?.connectionId === connectionId) stay.joinedAt = at
  }

  /** @param isLast - whether all is quiet */
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
    // Gaps first: they are told with the join.
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

  /** @param group -  @param id */
  #hear(group: number, id: number) {
    this.#world.counts.delivered++
    this.#ears.get(group)?.stay?.seen.push(id)
  }

  /** @param connectionId -  @param wasConnected */
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

  /** @param group -  @param owed */
  #stayIn(group: number, owed: boolean) {
    const connectionId = this.#connectionId
    if (connectionId === undefined) return undefined
    return newStay({ client: this.#name, connectionId, life: this.#hub.life, group, owed })
  }

  #judgeLater(stay: Stay | undefined) {
    if (stay) setTimeout(() => judgeStay(stay, this.#world, false), LAG).unref()
  }
}
