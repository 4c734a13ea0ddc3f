import type { IPublishPacket } from 'mqtt-packet'
import { BrokerCore } from '../../../src/broker/broker-core.js'
import type { Connection } from '../../../src/broker/connection.js'
import type { Message } from '../../../src/broker/delivery.js'
import type { BrokerHandler } from '../../../src/broker/handler.js'
import { LIMIT } from '../../../src/broker/limits.js'
import type { Session } from '../../../src/broker/session.js'
import type { Client } from '../../../src/peer/client.js'
import { Random } from '../../simulation/random.js'
import { ManualClock } from '../../support/manual-clock.js'
import { bytesOf, bytesOf311 } from './bytes.js'
import { Oracle } from './oracle.js'
import { numberIn, type Publication } from './publication.js'
import { type Action, DENIED_TOPIC, type Schedule, STORE_TOPIC, TOPICS } from './schedule.js'
import { SimClient } from './sim-client.js'
import { SimLink } from './sim-link.js'

/** What came of a simulation. */
export interface Verdict {
  readonly violations: readonly string[]
  /** Packets that were moved. */
  readonly moves: number
}

/** What a broker that keeps its promises can bear, and what it is brought to when bounds are to be reached. */
const TIGHT = {
  queuedMessages: 6,
  offlineSessions: 1,
  retainedMessages: 3,
  unsent: 200,
  backlog: 600,
  qos0Backlog: 400,
}
/** Packets until a world that behaves has come to rest; more is an endless loop. */
const MOST_MOVES = 20_000
const QUIET = { clean: false, expiry: 1_000, small: false, aliases: 0, keepAlive: 0 } as const

/** A broker whose messages are seen before anybody gets them. */
class ObservedCore extends BrokerCore {
  oracle: Oracle | undefined
  /** Has everything looked at that was written. */
  flush: () => void = () => undefined

  override publish(message: Message, from: Session | undefined): number | undefined {
    this.oracle?.publishing(message)
    const receivers = super.publish(message, from)
    this.flush()
    if (receivers === undefined) this.oracle?.refused(message)
    return receivers
  }
}

/** A broker and its clients, on virtual time; each packet moves when chance says so. */
export class World {
  readonly #schedule: Schedule
  readonly #random: Random
  readonly #clock = new ManualClock(0)
  readonly #oracle: Oracle
  readonly #core: ObservedCore
  readonly #clients: readonly SimClient[]
  /** Those of the links that are not forgotten by both ends. */
  readonly #connections = new Map<SimLink, Connection>()
  #number = 0
  #moves = 0

  constructor(schedule: Schedule) {
    this.#schedule = schedule
    this.#random = new Random(schedule.seed ^ 0x5bd1e995)
    this.#oracle = new Oracle(() => this.#clock.monotonic(), schedule.tight)
    const bounds = { maximumPacketSize: 10_000, maximumKeepAlive: 0, memoryBudget: 100_000_000 }
    this.#core = new ObservedCore({ clock: this.#clock, ...bounds }, this.#handler())
    this.#core.oracle = this.#oracle
    this.#core.flush = () => this.#flush()
    this.#clients = schedule.versions.map((version, i) => new SimClient(`client${i}`, version, this.#clientObserver()))
  }

  run(): Verdict {
    const usual = { ...LIMIT }
    if (this.#schedule.tight) Object.assign(LIMIT, TIGHT)
    try {
      for (const action of this.#schedule.actions) {
        for (let i = 0; i < action.moves; i++) this.#move()
        this.#act(action)
        this.#settle()
      }
      if (this.#schedule.ending === 'settled') this.#comeToRest()
      this.#end()
    } catch (error) {
      this.#oracle.complain(`an exception: ${error instanceof Error ? error.stack : error}`)
    } finally {
      Object.assign(LIMIT, usual)
    }
    return { violations: this.#oracle.complaints, moves: this.#moves }
  }

  #handler(): BrokerHandler {
    return {
      topic: STORE_TOPIC,
      refuse: (_, { topic }) => (topic === DENIED_TOPIC ? { reason: 'nobody may' } : undefined),
      take: (client, message) => {
        this.#oracle.stored(numberIn({ content: message }), message.topic)
        this.#answer(client)
      },
      maySubscribe: () => true,
      connected: () => undefined,
      disconnected: () => undefined,
      failed: error => this.#oracle.complain(`the broker failed: ${error instanceof Error ? error.stack : error}`),
    }
  }

  #clientObserver() {
    return {
      arrived: (link: SimLink, packet: IPublishPacket) => this.#oracle.arrived(link, packet),
      taken: ({ number, topic, qos, sent, accepted }: Publication, refused: boolean) => {
        // With QoS 1 there may have been room for the first copy alone.
        const once = qos !== 1 || sent === 1
        if (refused && accepted > 0 && once) this.#oracle.complain(`${number} was refused, but published`)
        if (refused && topic !== DENIED_TOPIC && !this.#schedule.tight) this.#oracle.complain(`${number} was refused`)
        if (!refused && accepted === 0) this.#oracle.complain(`${number} was acknowledged, but not published`)
      },
      complain: this.#oracle.complain,
    }
  }

  #answer(client: Client): void {
    if (!client.open) return
    const publication = this.#publication({ kind: 'answer', client: '', topic: TOPICS[0], qos: 1, retain: false })
    this.#oracle.answering(client.clientId, publication)
    const payload = new TextEncoder().encode(`${publication.number}`)
    client.deliver(publication.topic, { payload, userProperties: {} })
  }

  #publication(
    of: Pick<Publication, 'kind' | 'client' | 'topic' | 'qos' | 'retain'> & Partial<Publication>,
  ): Publication {
    const number = ++this.#number
    const publication = { what: 'small' as const, expiry: undefined, ...of, number, accepted: 0, sent: 0 }
    this.#oracle.publications.set(number, publication)
    return publication
  }

  #act(action: Action): void {
    if (action.type === 'wait') {
      this.#clock.advance(action.ms)
      return
    }
    const client = this.#clients[action.client]
    const link = client?.link
    if (client === undefined) return
    switch (action.type) {
      case 'connect':
        this.#connect(client, action)
        return
      case 'publish':
        this.#publish(client, action)
        return
      case 'subscribe': {
        const { filter, qos, noLocal, retainAsPublished, retainHandling, id } = action
        const options = client.version === 5 && { nl: noLocal, rap: retainAsPublished, rh: retainHandling }
        const properties = client.version === 5 && id !== undefined && { properties: { subscriptionIdentifier: id } }
        const subscriptions = [{ topic: filter, qos, ...options }]
        client.request(messageId => ({ cmd: 'subscribe', messageId, subscriptions, ...properties }))
        return
      }
      case 'unsubscribe':
        client.request(messageId => ({ cmd: 'unsubscribe', messageId, unsubscriptions: [action.filter] }))
        return
      case 'ping':
        client.request(() => ({ cmd: 'pingreq' }))
        return
      case 'hold':
        client.holding = true
        return
      case 'release':
        client.release()
        client.stalled = false
        return
      case 'stall':
        client.stalled = true
        return
      case 'acknowledge':
        client.acknowledge(action.refusing, action.last)
        return
      case 'disconnect': {
        const { withWill, expiry } = action
        const properties = expiry !== undefined && { properties: { sessionExpiryInterval: expiry } }
        const told = client.version === 5 && { reasonCode: withWill ? 0x04 : 0, ...properties }
        client.request(() => ({ cmd: 'disconnect', ...told }))
        this.#leave(client)
        return
      }
      case 'finish':
        this.#leave(client)
        return
      case 'kill':
        if (link === undefined) return
        this.#kill(link)
        client.link = undefined
        if (action.noticed) this.#notice(link)
    }
  }

  #connect(client: SimClient, action: Extract<Action, { type: 'connect' }>): void {
    if (client.link) client.link.finished = true
    const { will } = action
    const { clientId: name } = client
    // What was never read cannot end the connection that comes after it.
    for (const { up } of this.#connections.keys())
      if (up[0]?.cmd === 'connect' && up[0].clientId === name) up.length = 0
    const expiry = client.version === 5 ? will?.expiry : undefined
    const publication = will && this.#publication({ ...will, expiry, kind: 'will', client: name })
    client.connect(this.#open(client.version), action, publication)
  }

  #open(version: 4 | 5): SimLink {
    const link = new SimLink(version, {
      sent: (from, sent) => this.#oracle.sent(from, sent),
      ended: from => this.#oracle.over(from, false),
      complain: this.#oracle.complain,
    })
    this.#connections.set(link, this.#core.accept(link))
    return link
  }

  #publish(client: SimClient, { topic, qos, retain, what, expiry, alias }: Extract<Action, { type: 'publish' }>): void {
    if (!client.ready) return
    // What is empty cannot be told apart with MQTT 3.1.1, and what is refused ends the connection.
    const plain = client.version === 4
    const named = plain || topic.startsWith('s/')
    const publication = this.#publication({
      kind: 'message',
      client: client.clientId,
      topic: plain && topic === DENIED_TOPIC ? TOPICS[1] : topic,
      qos,
      retain,
      what: named && what === 'empty' ? 'small' : what,
      expiry: plain ? undefined : expiry,
    })
    client.publish(publication, alias)
  }

  /** The client sends nothing more. */
  #leave(client: SimClient): void {
    if (client.link) client.link.finished = true
    client.link = undefined
  }

  #kill(link: SimLink): void {
    link.gone = link.finished = true
    link.up.length = 0
    link.forget()
  }

  /** The broker hears that a connection is broken. */
  #notice(link: SimLink): void {
    this.#oracle.over(link, true)
    this.#connections.get(link)?.lost()
    this.#connections.delete(link)
  }

  /** One packet moves, or a broken connection is noticed; returns whether there was something to do. */
  #move(): boolean {
    const moves = [...this.#connections].flatMap(([link, connection]) => this.#possible(link, connection))
    const [first, ...others] = moves
    if (first === undefined) return false
    this.#clock.advance(1)
    this.#settle()
    this.#moves++
    this.#random.pick([first, ...others])()
    this.#settle()
    return true
  }

  #possible(link: SimLink, connection: Connection): (() => void)[] {
    if (link.over) return [() => this.#close(link)]
    if (link.gone) return [() => this.#notice(link)]
    const moves: (() => void)[] = []
    const client = this.#clients.find(client => client.link === link)
    // What nobody looks at any more the system takes.
    if (link.down.length > 0 && (client === undefined || !client.stalled)) moves.push(() => this.#down(link, client))
    if (!connection.stalled && (link.up.length > 0 || link.finished)) moves.push(() => this.#up(link, connection))
    return moves
  }

  #down(link: SimLink, client: SimClient | undefined): void {
    const packet = link.take()
    if (packet && client) client.take(link, packet)
    const connection = this.#connections.get(link)
    if (connection && !connection.ended && !connection.stalled) connection.proceed()
  }

  #up(link: SimLink, connection: Connection): void {
    if (connection.proceed()) return
    const packet = link.up.shift()
    if (packet === undefined) {
      connection.finish()
      return
    }
    const bytes = link.version === 5 ? bytesOf(packet) : bytesOf311(packet)
    this.#oracle.handed(link, packet)
    connection.seen()
    connection.receive(bytes)
    while (!connection.ended && !connection.stalled && connection.proceed());
  }

  /** The client sees, after what is on its way, that the broker has ended the connection. */
  #close(link: SimLink): void {
    const client = this.#clients.find(client => client.link === link)
    for (let packet = link.take(); packet !== undefined; packet = link.take()) client?.take(link, packet)
    if (client) client.link = undefined
    this.#connections.get(link)?.lost()
    this.#connections.delete(link)
  }

  #settle(): void {
    this.#flush()
    this.#oracle.settle()
  }

  #flush(): void {
    for (const link of this.#connections.keys()) link.flush()
  }

  /** Everybody comes back, takes what there is and acknowledges it. */
  #comeToRest(): void {
    for (const client of this.#clients) {
      if (client.link) this.#kill(client.link)
      client.link = undefined
      client.holding = client.stalled = false
    }
    this.#drain()
    // Nobody is too slow who takes one at a time.
    const receiveMaximum = this.#schedule.tight ? 1 : 65_535
    const step = { type: 'connect', client: 0, moves: 0, will: undefined, receiveMaximum, ...QUIET } as const
    // A session that was too full ends when it is due, and another begins.
    for (let round = 0; round < 3; round++) {
      for (const client of this.#clients) {
        if (!client.link) this.#connect(client, step)
      }
      this.#drain()
    }
    this.#oracle.settled()
    for (const { clientId, unacknowledged } of this.#clients)
      if (unacknowledged > 0) this.#oracle.complain(`${unacknowledged} of ${clientId} were not acknowledged`)
  }

  #drain(): void {
    const limit = this.#moves + MOST_MOVES
    while (this.#move()) if (this.#moves > limit) throw new Error('it does not come to rest')
  }

  /** The broker ends, and leaves nothing behind. */
  #end(): void {
    this.#oracle.wills.forget()
    if (this.#schedule.ending === 'died') this.#core.die()
    else this.#core.close()
    for (const link of [...this.#connections.keys()]) this.#notice(link)
    const { budget, retained, sessionCount, connectionCount } = this.#core
    for (const topic of [...TOPICS, 's/x/1', 's/x/2']) retained.delete(topic)
    const left = {
      bytes: budget.used,
      timers: this.#clock.pending,
      sessionCount,
      connectionCount,
      kept: retained.count,
    }
    if (Object.values(left).some(count => count !== 0)) this.#oracle.complain(`left behind: ${JSON.stringify(left)}`)
  }
}
