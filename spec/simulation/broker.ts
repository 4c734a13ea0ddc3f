import { Subject } from 'rxjs'
import type { InboundMessage, OutboundRequest } from '../../src/mqtt/session.js'
import { StateStoreService } from '../../src/server/service.js'
import {
  type Connection,
  type Content,
  type RequestReport,
  StateStoreServer,
} from '../../src/server/state-store-server.js'
import { type History, RecordedEngine } from './history.js'
import type { Conditions, Wire } from './network.js'
import type { Random } from './random.js'
import type { VirtualTime } from './virtual-time.js'

/** A message on its way, with the place in the history at which the store sent it. */
export interface Delivered {
  readonly message: InboundMessage
  readonly place: number
}

/** What a client's end of a connection takes. */
export interface ClientEnd {
  readonly clientId: string
  readonly wire: Wire
  /** Whether the broker keeps the session when the connection is gone. */
  readonly keepSession: boolean
  deliver(delivered: Delivered): void
  /** The broker ends the connection: taken over. */
  takenOver(): void
}

interface Session {
  readonly filters: Set<string>
  readonly unacknowledged: Map<number, Delivered>
}

/** A safeguard of the client that is switched off at its session, to show that the oracle misses it. */
export type Sabotage = 'SUBACK wait' | 'STOP on last leave'

/** What the parts of a simulation share. */
export interface Setting {
  readonly sabotage: Sabotage | undefined
  /** A store that tells nobody when a key runs out, as some do. */
  readonly silentExpiry?: boolean
  readonly time: VirtualTime
  readonly random: Random
  readonly conditions: Conditions
  readonly history: History
}

/** A client's connection at the broker; delivers in order per kind, answers and notifications may overtake each other. */
class SimConnection implements Connection {
  readonly clientId: string
  readonly end: ClientEnd
  readonly session: Session
  readonly #setting: Setting
  readonly #nextId: () => number
  readonly #last = { notify: 0, response: 0 }
  open = true

  constructor(end: ClientEnd, session: Session, setting: Setting, nextId: () => number) {
    this.clientId = end.clientId
    this.end = end
    this.session = session
    this.#setting = setting
    this.#nextId = nextId
  }

  subscribes(topic: string): boolean {
    for (const filter of this.session.filters)
      if (filter === topic || topic.startsWith(filter.replace(/\+$/, ''))) return true
    return false
  }

  deliver(topic: string, { payload, correlationData, contentType, userProperties }: Content): void {
    const { random, conditions, history } = this.#setting
    if (correlationData && random.chance(conditions.lostReply)) return
    const message = { topic, payload, correlationData, contentType, userProperties }
    const delivered = { message, place: history.all.length }
    const id = this.#nextId()
    this.session.unacknowledged.set(id, delivered)
    const late = correlationData && random.chance(conditions.lateReply) ? 3_000 : 0
    this.transmit(id, delivered, random.int(0, conditions.brokerDelay) + late)
    if (random.chance(conditions.duplicate)) this.transmit(id, delivered, random.int(0, conditions.brokerDelay) + late)
  }

  /** Sends a message after a delay, unless it was acknowledged by then. */
  transmit(id: number, delivered: Delivered, delay: number): void {
    const kind = delivered.message.correlationData ? 'response' : 'notify'
    const { time } = this.#setting
    this.#last[kind] = Math.max(this.#last[kind], time.now + delay)
    time.after(this.#last[kind] - time.now, () => {
      if (!this.open) return
      this.end.wire.down(() => {
        this.end.deliver(delivered)
        this.end.wire.up(() => this.session.unacknowledged.delete(id))
      })
    })
  }
}

/** An MQTT broker with the shipped store inside, on virtual time. */
export class SimBroker {
  readonly #setting: Setting
  readonly #sessions = new Map<string, Session>()
  readonly #connections = new Map<string, SimConnection>()
  engine: RecordedEngine<Connection>
  #server: StateStoreServer
  #lastId = 0
  up = true

  constructor(setting: Setting) {
    this.#setting = setting
    this.engine = this.#emptyEngine()
    this.#server = this.#serve()
  }

  /** Takes a CONNECT; whether a session was kept, or `undefined` when nobody is there. */
  connect(end: ClientEnd, cleanStart: boolean): boolean | undefined {
    if (!this.up) return undefined
    const old = this.#connections.get(end.clientId)
    if (old) {
      old.end.takenOver()
      this.#drop(old)
    }
    if (cleanStart) this.#sessions.delete(end.clientId)
    const kept = this.#sessions.get(end.clientId)
    const session = kept ?? { filters: new Set(), unacknowledged: new Map() }
    this.#sessions.set(end.clientId, session)
    const connection = new SimConnection(end, session, this.#setting, () => ++this.#lastId)
    this.#connections.set(end.clientId, connection)
    const { random, conditions } = this.#setting
    for (const [id, delivered] of session.unacknowledged)
      connection.transmit(id, delivered, random.int(0, conditions.queueDelay))
    return kept !== undefined
  }

  /** Takes a SUBSCRIBE; it holds a little later, and then the SUBACK goes out. */
  subscribe(end: ClientEnd, filters: readonly string[], done: () => void): void {
    const { time, random, conditions } = this.#setting
    time.after(random.int(0, conditions.brokerDelay), () => {
      const connection = this.#current(end)
      if (connection === undefined) return
      for (const filter of filters) connection.session.filters.add(filter)
      end.wire.down(done)
    })
  }

  /** Takes a request: PUBACK, then whatever the store does. */
  publish(end: ClientEnd, request: OutboundRequest, acknowledged: () => void): void {
    const connection = this.#current(end)
    if (connection === undefined) return
    end.wire.down(acknowledged)
    this.#server.take(connection, {
      topic: request.topic,
      payload: request.payload,
      qos: 1,
      responseTopic: request.responseTopic,
      correlationData: request.correlationData,
      userProperties: request.userProperties,
    })
  }

  /** Notices that a connection is gone. */
  lost(end: ClientEnd): void {
    const connection = this.#current(end)
    if (connection) this.#drop(connection)
  }

  /** Stops; all connections are gone. */
  stop(keepData: boolean, keepSessions: boolean): void {
    this.up = false
    this.#server.pause()
    for (const connection of Array.from(this.#connections.values())) {
      connection.end.wire.cut()
      this.#drop(connection)
    }
    if (!keepSessions) this.#sessions.clear()
    if (keepData) return
    this.engine = this.#emptyEngine()
    this.#setting.history.life++
  }

  start(): void {
    this.up = true
    this.#server = this.#serve()
  }

  /** Registrations of a client, in any of its connections. */
  watchesOf(clientId: string): number {
    const connection = this.#connections.get(clientId)
    return connection ? this.engine.watchers.countOf(connection) : 0
  }

  #emptyEngine(): RecordedEngine<Connection> {
    const { history, silentExpiry = false } = this.#setting
    return new RecordedEngine(history, silentExpiry)
  }

  #serve(): StateStoreServer {
    const clock = this.#setting.time.clock()
    const service = new StateStoreService(this.engine, clock, 'field')
    return new StateStoreServer(this.engine, service, new Subject<RequestReport>(), {
      dialect: 'field',
      notifications: 'subscribed',
      clock,
      publish: () => undefined,
    })
  }

  #current(end: ClientEnd): SimConnection | undefined {
    const connection = this.#connections.get(end.clientId)
    return connection?.end === end ? connection : undefined
  }

  #drop(connection: SimConnection): void {
    connection.open = false
    this.#server.drop(connection)
    this.#connections.delete(connection.clientId)
    if (!connection.end.keepSession) this.#sessions.delete(connection.clientId)
  }
}
