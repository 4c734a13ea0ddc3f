import { Subject } from 'rxjs'
import { MemoryLog } from '../../src/log/memory-log.js'
import type { OutboundRequest } from '../../src/mqtt/session.js'
import type { Client } from '../../src/peer/client.js'
import { StateStoreService } from '../../src/server/service.js'
import { type RequestReport, StateStoreServer } from '../../src/server/state-store-server.js'
import { type ClientEnd, type Session, type Setting, SimConnection } from './connection.js'
import { RecordedEngine } from './history.js'

/** So far may the store's wall clock go back in all, ms; with more it would refuse clients whose clock is right. */
const MOST_CLOCK_BACK = 25_000

/** An MQTT broker with the shipped store inside, on virtual time. */
export class SimBroker {
  readonly #setting: Setting
  readonly #sessions = new Map<string, Session>()
  readonly #connections = new Map<string, SimConnection>()
  engine: RecordedEngine<Client>
  #server: StateStoreServer
  #lastId = 0
  /** How wrong the store's wall clock is, ms. */
  #clockOffset = 0
  #downUntil = 0
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
    const session = kept ?? { filters: new Map(), unacknowledged: new Map() }
    this.#sessions.set(end.clientId, session)
    const connection = new SimConnection(end, session, this.#setting, () => ++this.#lastId)
    this.#connections.set(end.clientId, connection)
    const { random, conditions } = this.#setting
    for (const [id, delivered] of session.unacknowledged)
      connection.transmit(id, delivered, random.int(0, conditions.queueDelay))
    return kept !== undefined
  }

  /** Takes a SUBSCRIBE; it holds a little later, and then the SUBACK goes out. */
  subscribe(end: ClientEnd, filters: readonly string[], id: number | undefined, done: () => void): void {
    this.#current(end)?.inTurn(connection => {
      for (const filter of filters) connection.session.filters.set(filter, id)
      end.wire.down(done)
    })
  }

  /** Takes an UNSUBSCRIBE. */
  unsubscribe(end: ClientEnd, filters: readonly string[]): void {
    this.#current(end)?.inTurn(connection => {
      for (const filter of filters) connection.session.filters.delete(filter)
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

  /** Stops for a while, ms; all connections are gone. When it is stopped again meanwhile, the later end counts. */
  restart(outage: number, keepData: boolean, keepSessions: boolean, clockBack = 0): void {
    const { time } = this.#setting
    this.#downUntil = Math.max(this.#downUntil, time.now + outage)
    time.after(outage, () => {
      if (!this.up && time.now >= this.#downUntil) this.#start()
    })
    this.#stop(keepData, keepSessions, clockBack)
  }

  #stop(keepData: boolean, keepSessions: boolean, clockBack: number): void {
    this.up = false
    this.#clockOffset = Math.max(this.#clockOffset - clockBack, -MOST_CLOCK_BACK)
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

  #start(): void {
    this.up = true
    this.#server = this.#serve()
  }

  /** Registrations of a client, in any of its connections. */
  watchesOf(clientId: string): number {
    const connection = this.#connections.get(clientId)
    return connection ? this.engine.watchers.countOf(connection) : 0
  }

  #emptyEngine(): RecordedEngine<Client> {
    const { history, silentExpiry = false } = this.#setting
    return new RecordedEngine(history, silentExpiry)
  }

  #serve(): StateStoreServer {
    const clock = this.#setting.time.clock(this.#clockOffset)
    const service = new StateStoreService(this.engine, 'field', () => false)
    return new StateStoreServer(this.engine, service, new MemoryLog(), new Subject<RequestReport>(), {
      dialect: 'field',
      notifications: 'subscribed',
      clock,
      publish: () => undefined,
      drifted: () => undefined,
      stored: () => undefined,
      faulted: error => {
        throw error
      },
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
