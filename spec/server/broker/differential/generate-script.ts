import type { QoS } from 'mqtt-packet'
import { Random } from '../../../../harness/random.js'
import {
  type Answers,
  CLIENTS,
  type ClientName,
  type Connect,
  type Filter,
  type Flavour,
  type Message,
  type MessageProperties,
  type Script,
  type Step,
  type Version,
  type Will,
} from './script.js'

export const LENGTH = 80
const TOPICS = ['a', 'a/b', 'a/b/c', 'a/x/c', 'd', 'd/e', 'a//c'] as const
const DISJOINT = ['a', 'a/b', 'a/+/c', 'd/#'] as const
const OVERLAPPING = [...DISJOINT, '#', '+', 'a/#', 'a/+', '+/b', '+/+/c', '+/#', 'd', 'd/e', 'a//c'] as const
const SHARED = ['$share/odd/a/#', '$share/even/a/+', 'd/#'] as const
const FILTERS: Record<Flavour, readonly [string, ...string[]]> = {
  disjoint: DISJOINT,
  overlapping: OVERLAPPING,
  shared: SHARED,
}
const QOS = [0, 1, 2] as const
const FAR_AWAY = 1_000

type Options = Pick<Filter, 'noLocal' | 'retainAsPublished'>
const PLAIN: Options = { noLocal: false, retainAsPublished: false }

/**
 * Returns the script of a seed. The script avoids known errors of Mosquitto 2.0.11, which would hide other differences:
 *
 * - a SUBSCRIBE that replaces another one keeps the old No Local and Retain As Published (3.8.4-3);
 * - a message too large for its receiver occupies the receive window permanently (3.1.2-24, 4.9);
 * - a shared subscription receives retained messages (4.8.2);
 * - on a session takeover, the will of the old connection is lost or replaced by the new will (3.1.2.5, 3.1.4), so
 * scripts close such connections first;
 * - a delayed will waits for its delay although the session has ended (3.1.3.2.2), even by a clean start, and a will
 *   for a group may be delivered to the client that left the will;
 * - a session resumed with a smaller receive maximum exceeds the maximum, and one acknowledgement may release several
 * messages (4.9-1, 4.9-2).
 */
export function generateScript(flavour: Flavour, seed: number): Script {
  return new Generator(flavour, seed).script()
}

class Generator {
  readonly #random: Random
  readonly #seed: number
  readonly #flavour: Flavour
  readonly #versions: Record<ClientName, Version>
  readonly #windows: boolean
  /**
   * Whether QoS 1 messages are repeated. Otherwise QoS 2 exchanges are broken off. Combining both would reveal which
   * method of section 4.3.3 a broker implements.
   */
  readonly #repeats: boolean
  readonly #receiveMaximum: Record<ClientName, number>
  readonly #connected = new Set<ClientName>()
  readonly #chosen = new Map<string, Options>()
  #messages = 0

  constructor(flavour: Flavour, seed: number) {
    this.#random = new Random(seed)
    this.#seed = seed
    this.#flavour = flavour
    this.#versions = { ann: this.#version(), bob: this.#version(), cyd: this.#version() }
    const maximum = (): number => this.#random.pick([1, 2, 3, 65_535])
    this.#receiveMaximum = { ann: maximum(), bob: maximum(), cyd: maximum() }
    this.#windows = this.#flavour === 'disjoint' && this.#random.chance(0.4)
    this.#repeats = this.#random.chance(0.5)
  }

  script(): Script {
    const steps: Step[] = []
    while (steps.length < LENGTH) steps.push(this.#step())
    return { seed: this.#seed, flavour: this.#flavour, steps }
  }

  #version(): Version {
    // The received messages must not depend on which group member is chosen.
    return this.#flavour === 'shared' || this.#random.chance(0.75) ? 5 : 4
  }

  #step(): Step {
    const random = this.#random
    const client = random.pick(CLIENTS)
    const connected = this.#connected.has(client)
    if (!connected || random.chance(0.06)) return this.#connect(client)
    const roll = random.next()
    if (roll < 0.25) return this.#subscribe(client)
    if (roll < 0.31) return { do: 'unsubscribe', client, filters: this.#some(() => random.pick(this.#filters)) }
    if (roll < 0.4) return this.#disconnect(client)
    if (roll < 0.45 && this.#flavour === 'disjoint' && !this.#windows) return { do: 'answer', client }
    return this.#publish(client)
  }

  #connect(client: ClientName): Connect {
    const random = this.#random
    this.#connected.add(client)
    const version = this.#versions[client]
    const kept = this.#flavour !== 'shared' && random.chance(0.7)
    const five = version === 5
    const clean = five ? random.chance(0.25) : !kept
    // Scripts never lower the maximum packet size, because the brokers differ. For a QoS 2 message that no longer fits,
    // our broker sends PUBREL (section 4.3.3), whereas Mosquitto sends nothing and keeps the packet id. The specs in
    // `standard` test this case.
    return {
      do: 'connect',
      client,
      version,
      clean,
      expiry: kept ? random.pick([FAR_AWAY, 2 ** 32 - 1]) : 0,
      answers: this.#answers(),
      ...(five && this.#windows ? { receiveMaximum: this.#receiveMaximum[client] } : {}),
      ...(five && random.chance(0.3) ? { topicAliasMaximum: random.int(1, 4) } : {}),
      ...(random.chance(0.3) ? { will: this.#will(kept) } : {}),
    }
  }

  #will(kept: boolean): Will {
    const message = this.#message()
    const topic = this.#flavour === 'shared' ? 'd' : message.topic
    return { ...message, topic, delay: kept ? this.#random.pick([0, 0, FAR_AWAY]) : 0 }
  }

  #answers(): Answers {
    if (this.#flavour === 'shared') return 'all'
    if (this.#flavour === 'overlapping') return this.#random.chance(0.8) ? 'all' : 'none'
    return this.#random.pick(this.#windows ? ['all', 'none'] : ['all', 'all', 'none', 'half'])
  }

  #disconnect(client: ClientName): Step {
    const random = this.#random
    this.#connected.delete(client)
    if (random.chance(0.5)) return { do: 'cut', client }
    const expiry = random.chance(0.15) ? { expiry: random.pick([0, FAR_AWAY]) } : {}
    return { do: 'disconnect', client, withWill: random.chance(0.3), ...expiry }
  }

  get #filters(): readonly [string, ...string[]] {
    return FILTERS[this.#flavour]
  }

  #subscribe(client: ClientName): Step {
    const random = this.#random
    const filters = this.#some(() => this.#filter(client))
    return { do: 'subscribe', client, filters, ...(random.chance(0.4) ? { identifier: random.int(1, 300) } : {}) }
  }

  #filter(client: ClientName): Filter {
    const random = this.#random
    const filter = random.pick(this.#filters)
    // Retained messages of several topics arrive in any order, which would be visible with a receive window.
    const several = this.#windows && /[+#]/.test(filter)
    const retainHandling = random.pick([0, 0, 1, 2] as const)
    if (filter.startsWith('$share')) return { filter, ...PLAIN, qos: filter.includes('odd') ? 1 : 2, retainHandling: 2 }
    if (this.#versions[client] === 4) return { filter, ...PLAIN, qos: this.#grant(client), retainHandling: 0 }
    return {
      filter,
      qos: this.#grant(client),
      ...this.#options(client, filter),
      retainHandling: several ? 2 : retainHandling,
    }
  }

  /** With overlapping filters, only the QoS 0 copy would be lost while the client is offline. */
  #grant(client: ClientName): QoS {
    if (this.#flavour !== 'overlapping') return this.#random.pick(QOS)
    return client === 'ann' ? 0 : this.#random.pick([1, 2])
  }

  #options(client: ClientName, filter: string): Options {
    const key = `${client} ${filter}`
    const random = this.#random
    const options = this.#chosen.get(key) ?? { noLocal: random.chance(0.2), retainAsPublished: random.chance(0.4) }
    this.#chosen.set(key, options)
    return options
  }

  #publish(client: ClientName): Step {
    const random = this.#random
    const message = this.#message()
    const kind = random.next()
    if (kind < 0.1 && !this.#repeats) {
      const when = random.pick(['after PUBLISH', 'after PUBREC', 'after PUBREL'] as const)
      return { do: 'publish, broken off', client, message: { ...message, qos: 2 }, when }
    }
    if (kind < 0.15 && this.#repeats) return { do: 'publish', client, message: { ...message, qos: 1 }, unheard: true }
    return { do: 'publish', client, message, ...(random.chance(0.2) ? { alias: random.int(1, 3) } : {}) }
  }

  #message(): Message {
    const random = this.#random
    const retain = random.chance(0.3)
    return {
      number: ++this.#messages,
      topic: random.pick(TOPICS),
      qos: random.pick(QOS),
      retain,
      size: retain && random.chance(0.2) ? 0 : random.pick([10, 10, 10, 500]),
      properties: random.chance(0.4) ? this.#properties() : {},
    }
  }

  #properties(): MessageProperties {
    const random = this.#random
    return {
      ...(random.chance(0.5) ? { userProperties: random.pick([{ a: '1' }, { a: ['1', '2'], b: '' }]) } : {}),
      ...(random.chance(0.3) ? { contentType: 'text/plain' } : {}),
      ...(random.chance(0.3) ? { responseTopic: 'a/reply' } : {}),
      ...(random.chance(0.3) ? { correlationData: 'which' } : {}),
      ...(random.chance(0.3) ? { payloadFormatIndicator: random.chance(0.5) } : {}),
      ...(random.chance(0.3) ? { messageExpiryInterval: FAR_AWAY * random.int(1, 3) } : {}),
    }
  }

  #some<T>(make: () => T): T[] {
    return Array.from({ length: this.#random.chance(0.25) ? 2 : 1 }, make)
  }
}
