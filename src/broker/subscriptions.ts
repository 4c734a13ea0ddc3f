import { dictionary } from './hostile-names.js'
import { matchesFilter } from './topic-filter.js'

interface Subscription {
  readonly filter: string
  readonly qos: number
}

/**
 * What a client subscribed to. aedes writes it, in the moment it is true; so that what is looked up for every delivery is
 * never older than that.
 */
export class Subscriptions {
  /** What aedes takes for an object of its own: filter to subscription. */
  readonly byFilter: object
  readonly #known = dictionary()
  /** Those that matched last come first; `undefined` after a change. */
  #list: Subscription[] | undefined
  #topic: string | undefined
  #granted: 0 | 1 | undefined

  constructor() {
    this.byFilter = new Proxy(this.#known, {
      set: (known, filter, subscription) => {
        this.#changed()
        return Reflect.set(known, filter, subscription)
      },
      deleteProperty: (known, filter) => {
        this.#changed()
        return Reflect.deleteProperty(known, filter)
      },
    })
  }

  get count(): number {
    return this.#all.length
  }

  /** The QoS with which a message of a topic is to be delivered, at most 1; `undefined` when no subscription matches. */
  grantedQos(topic: string): 0 | 1 | undefined {
    if (topic !== this.#topic || this.#list === undefined) {
      this.#granted = this.#match(topic)
      this.#topic = topic
    }
    return this.#granted
  }

  get #all(): Subscription[] {
    this.#list ??= Object.entries(this.#known).map(([filter, granted]) => ({
      filter,
      qos: Number(Object(granted).qos),
    }))
    return this.#list
  }

  #changed(): void {
    this.#list = undefined
    this.#topic = undefined
  }

  #match(topic: string): 0 | 1 | undefined {
    const all = this.#all
    let best: 0 | undefined
    for (const [place, subscription] of all.entries()) {
      if (!matchesFilter(subscription.filter, topic)) continue
      if (subscription.qos > 0) {
        // The next topic is probably one of the same kind.
        all[place] = all[0] ?? subscription
        all[0] = subscription
        return 1
      }
      best = 0
    }
    return best
  }
}
