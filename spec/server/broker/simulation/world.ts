import { Random } from '../../../../harness/random.js'
import type { Client } from '../../../../src/core/mqtt5/peer.js'
import { BrokerCore } from '../../../../src/server/broker/core/broker-core.js'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import type { Message } from '../../../../src/server/broker/routing/delivery.js'
import type { BrokerHandler } from '../../../../src/server/broker/session/handler.js'
import type { Session } from '../../../../src/server/broker/session/session.js'
import { ManualClock } from '../../../support/manual-clock.js'
import { Oracle } from './oracle.js'
import { numberIn, type Publication } from './publication.js'
import { type BrokerSchedule, DENIED_TOPIC, STORE_TOPIC, type Step, TOPICS } from './schedule.js'
import { SimClient } from './sim-client.js'
import { SimNetwork } from './sim-network.js'

/** Limits that the schedule reaches. The default limits are never reached with a correct broker. */
const TIGHT_LIMITS = {
  queuedMessages: 6,
  offlineSessions: 1,
  retainedMessages: 3,
  readPauseBytes: 200,
  backlogBytes: 600,
  qos0BacklogBytes: 400,
}
/** The maximum number of packets until a correct broker settles. More packets indicate an endless loop. */
const MAX_MOVES = 20_000
const QUIET = { clean: false, expiry: 1_000, small: false, aliases: 0, keepAlive: 0 } as const

/** A broker that reports messages to the oracle before routing them. */
class ObservedCore extends BrokerCore {
  oracle: Oracle | undefined
  flush: () => void = () => undefined

  override publish(message: Message, from: Session | undefined): number | undefined {
    this.oracle?.onPublished(message)
    const receivers = super.publish(message, from)
    this.flush()
    if (receivers === undefined) this.oracle?.onRetainRejected(message)
    return receivers
  }
}

/** A broker and its clients in virtual time, with packets that move in random order. */
export class World {
  readonly #schedule: BrokerSchedule
  readonly #random: Random
  readonly #clock = new ManualClock(0)
  readonly #oracle: Oracle
  readonly #core: ObservedCore
  readonly #clients: readonly SimClient[]
  readonly #network: SimNetwork
  #number = 0
  #moves = 0

  constructor(schedule: BrokerSchedule) {
    this.#schedule = schedule
    this.#random = new Random(schedule.seed ^ 0x5bd1e995)
    this.#oracle = new Oracle(() => this.#clock.monotonic(), schedule.tight)
    const bounds = { maximumPacketSize: 10_000, maxKeepAliveSeconds: 0, memoryBudget: 100_000_000 }
    this.#core = new ObservedCore({ clock: this.#clock, ...bounds }, this.#handler())
    this.#core.oracle = this.#oracle
    this.#core.flush = () => this.#network.flush()
    this.#clients = schedule.versions.map((version, i) => new SimClient(`client${i}`, version, this.#oracle))
    this.#network = new SimNetwork(this.#core, this.#oracle, this.#clients)
  }

  run(): readonly string[] {
    const usual = { ...LIMIT }
    if (this.#schedule.tight) Object.assign(LIMIT, TIGHT_LIMITS)
    try {
      for (const action of this.#schedule.actions) {
        for (let i = 0; i < action.moves; i++) this.#move()
        this.#perform(action)
        this.#settle()
      }
      if (this.#schedule.ending === 'settled') this.#reconnectAndDrain()
      this.#close()
    } catch (error) {
      this.#oracle.reportViolation(`an exception: ${error instanceof Error ? error.stack : error}`)
    } finally {
      Object.assign(LIMIT, usual)
    }
    return this.#oracle.violations
  }

  #handler(): BrokerHandler {
    return {
      topic: STORE_TOPIC,
      checkPublish: (_, { topic }) => (topic === DENIED_TOPIC ? { reason: 'the topic is denied' } : undefined),
      handlePublish: (client, message) => {
        this.#oracle.onAccepted(numberIn({ content: message }), message.topic)
        this.#answer(client)
        return false
      },
      maySubscribe: () => true,
      onConnected: () => undefined,
      onDisconnected: () => undefined,
      onError: error =>
        this.#oracle.reportViolation(`the broker failed: ${error instanceof Error ? error.stack : error}`),
    }
  }

  #answer(client: Client): void {
    if (!client.open) return
    const publication = this.#publication({ kind: 'answer', client: '', topic: TOPICS[0], qos: 1, retain: false })
    this.#oracle.onResponse(client.clientId, publication)
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

  #perform(action: Step): void {
    if (action.type === 'wait') {
      this.#clock.advance(action.ms)
      return
    }
    const client = this.#clients[action.client]
    const link = client?.link
    if (client === undefined) return
    if (action.type === 'connect') this.#connect(client, action)
    else if (action.type === 'publish') this.#publish(client, action)
    else if (action.type !== 'kill') client.perform(action)
    else if (link) {
      this.#network.breakConnection(link)
      client.link = undefined
      if (action.noticed) this.#network.notifyBroker(link)
    }
  }

  #connect(client: SimClient, action: Extract<Step, { type: 'connect' }>): void {
    if (client.link) client.link.hasFinished = true
    const { will } = action
    const { clientId: name } = client
    // An unread CONNECT of the same client would end the new connection.
    for (const { up } of this.#network.links) if (up[0]?.cmd === 'connect' && up[0].clientId === name) up.length = 0
    const expiry = client.version === 5 ? will?.expiry : undefined
    const publication = will && this.#publication({ ...will, expiry, kind: 'will', client: name })
    client.connect(this.#network.open(client.version), action, publication)
  }

  #publish(client: SimClient, { topic, qos, retain, what, expiry, alias }: Extract<Step, { type: 'publish' }>): void {
    if (!client.ready) return
    // In MQTT 3.1.1, an empty message has no number, and a rejection ends the connection.
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

  /** Moves one packet or reports a broken connection. Returns `false` if there is neither. */
  #move(): boolean {
    const [first, ...others] = this.#network.moves
    if (first === undefined) return false
    this.#clock.advance(1)
    this.#settle()
    this.#moves++
    this.#random.pick([first, ...others])()
    this.#settle()
    return true
  }

  #settle(): void {
    this.#network.flush()
    this.#oracle.checkTurn()
  }

  #reconnectAndDrain(): void {
    for (const client of this.#clients) {
      if (client.link) this.#network.breakConnection(client.link)
      client.link = undefined
      client.holdsAcknowledgements = client.stalled = false
    }
    this.#drain()
    // With a receive maximum of 1, no client exceeds the limits.
    const receiveMaximum = this.#schedule.tight ? 1 : 65_535
    const step = { type: 'connect', client: 0, moves: 0, will: undefined, receiveMaximum, ...QUIET } as const
    // A session that overflows ends, and the next round starts another one.
    for (let round = 0; round < 3; round++) {
      for (const client of this.#clients) {
        if (!client.link) this.#connect(client, step)
      }
      this.#drain()
    }
    this.#oracle.checkEnd()
    for (const { clientId, unacknowledged } of this.#clients)
      if (unacknowledged > 0) this.#oracle.reportViolation(`${unacknowledged} of ${clientId} were not acknowledged`)
  }

  #drain(): void {
    const limit = this.#moves + MAX_MOVES
    while (this.#move())
      if (this.#moves > limit) throw new Error(`the simulation does not settle within ${MAX_MOVES} moves`)
  }

  #close(): void {
    this.#oracle.wills.discardAll()
    if (this.#schedule.ending === 'died') this.#core.kill()
    else this.#core.close()
    for (const link of this.#network.links) this.#network.notifyBroker(link)
    const { budget, retained, sessionCount, connectionCount } = this.#core
    for (const topic of [...TOPICS, 's/x/1', 's/x/2']) retained.delete(topic)
    const left = {
      bytes: budget.used,
      timers: this.#clock.pending,
      sessionCount,
      connectionCount,
      kept: retained.count,
    }
    if (Object.values(left).some(count => count !== 0))
      this.#oracle.reportViolation(`left behind: ${JSON.stringify(left)}`)
  }
}
