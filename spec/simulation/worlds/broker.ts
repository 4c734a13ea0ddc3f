import type { OutboundRequest } from '../../../src/client/session/session.js'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { type Log, MemoryLog } from '../../../src/server/log/log.js'
import { StoreService } from '../../../src/server/service/store-service.js'
import { type ClientEnd, oddReply, type Session, type Setting, SimConnection } from './connection.js'
import { RecordedEngine } from './recorded-engine.js'
import type { Restart } from './schedule.js'

/**
 * The limit of the store's clock error in milliseconds. Beyond it, the store would reject clients with correct clocks.
 */
const MAX_OFFSET_MS = 25_000

/** Quota exceeded, which is transient (MQTT 5.0, section 3.9.3). */
const QUOTA_EXCEEDED = 151

type SubscribeDone = (reasonCodes: readonly number[]) => void

/** An MQTT broker with the shipped store, on virtual time. */
export class SimBroker {
  /** Whether the broker never answers. */
  isHanging = false
  protected readonly setting: Setting
  readonly #sessions = new Map<string, Session>()
  readonly #connections = new Map<string, SimConnection>()
  engine: RecordedEngine<Client>
  protected server: StoreService
  #lastId = 0
  #clockOffset = 0
  #downUntil = 0
  isUp = true

  constructor(setting: Setting) {
    this.setting = setting
    this.engine = this.#emptyEngine()
    this.server = this.#serve()
  }

  /** Handles a CONNECT. Returns whether a session was resumed, or `undefined` if the broker is down. */
  connect(end: ClientEnd, cleanStart: boolean): boolean | undefined {
    if (!this.isUp) return undefined
    const old = this.#connections.get(end.clientId)
    if (old) {
      old.end.onTakeover()
      this.#drop(old)
    }
    if (cleanStart) this.#sessions.delete(end.clientId)
    const kept = this.#sessions.get(end.clientId)
    const session = kept ?? { filters: new Map(), unacknowledged: new Map() }
    this.#sessions.set(end.clientId, session)
    const connection = new SimConnection(
      end,
      session,
      this.setting,
      () => ++this.#lastId,
      () => this.position,
    )
    this.#connections.set(end.clientId, connection)
    connection.resume()
    return kept !== undefined
  }

  /** Handles a SUBSCRIBE, which takes effect after a delay and is then acknowledged. */
  subscribe(end: ClientEnd, filters: readonly string[], id: number | undefined, done: SubscribeDone): void {
    const { random, conditions } = this.setting
    this.#current(end)?.applyInOrder(connection => {
      const reasonCodes = filters.map(filter => {
        if (random.chanceOf(conditions.refusedFilter)) return QUOTA_EXCEEDED
        connection.session.filters.set(filter, id)
        this.subscribed(connection, filter)
        return 1
      })
      end.wire.down(() => done(reasonCodes))
    })
  }

  unsubscribe(end: ClientEnd, filters: readonly string[]): void {
    this.#current(end)?.applyInOrder(connection => {
      for (const filter of filters) connection.session.filters.delete(filter)
    })
  }

  /** Handles a request: sends PUBACK, and then the store's responses. */
  publish(end: ClientEnd, request: OutboundRequest, acknowledged: () => void): void {
    const connection = this.#current(end)
    if (connection === undefined) return
    this.inTime(() => this.#publish(end, request, acknowledged))
  }

  #publish(end: ClientEnd, request: OutboundRequest, acknowledged: () => void): void {
    const connection = this.#current(end)
    if (connection === undefined) return
    end.wire.down(acknowledged)
    connection.onRequest(request)
    if (this.isAway) return
    const { random, conditions } = this.setting
    if (random.chanceOf(conditions.oddReply)) {
      connection.deliver(request.responseTopic, oddReply(random, request))
      return
    }
    this.server.handleRequest(connection, {
      topic: request.topic,
      payload: request.payload,
      qos: 1,
      responseTopic: request.responseTopic,
      correlationData: request.correlationData,
      userProperties: request.userProperties,
    })
  }

  lost(end: ClientEnd): void {
    const connection = this.#current(end)
    if (connection) this.#drop(connection)
  }

  /** Stops temporarily and drops all connections. Overlapping outages end with the last outage. */
  restart(restart: Restart): void {
    const { time } = this.setting
    const { outage } = restart
    this.#downUntil = Math.max(this.#downUntil, time.now + outage)
    time.after(outage, () => {
      if (!this.isUp && time.now >= this.#downUntil) this.start()
    })
    this.#stop(restart)
  }

  setClock(back: number): void {
    this.#clockOffset = Math.min(Math.max(this.#clockOffset - back, -MAX_OFFSET_MS), MAX_OFFSET_MS)
  }

  #stop({ keepData, keepSessions, forgotten = 0, clockBack = 0 }: Restart): void {
    this.isUp = false
    this.setClock(clockBack)
    this.server.pause()
    for (const connection of Array.from(this.#connections.values())) {
      connection.end.wire.cut()
      this.#drop(connection)
    }
    for (const clientId of Array.from(this.#sessions.keys()))
      if (!keepSessions || (forgotten >> Number(clientId.replace('client', ''))) & 1) this.#sessions.delete(clientId)
    if (!keepData) this.loseData()
  }

  protected loseData(): void {
    this.engine = this.#emptyEngine()
    this.setting.history.instance++
  }

  protected start(): void {
    this.isUp = true
    this.server = this.#serve()
  }

  protected get isAway(): boolean {
    return false
  }

  protected get connected(): Iterable<SimConnection> {
    return this.#connections.values()
  }

  protected subscribed(_connection: SimConnection, _filter: string): void {}

  protected get position(): number {
    return this.setting.history.all.length
  }

  protected inTime(task: () => void): void {
    task()
  }

  protected log(): Log {
    return new MemoryLog()
  }

  watchesOf(clientId: string): number {
    const connection = this.#connections.get(clientId)
    return connection ? this.engine.watchers.countOf(connection) : 0
  }

  #emptyEngine(): RecordedEngine<Client> {
    const { history, silentExpiry = false } = this.setting
    return new RecordedEngine(history, silentExpiry)
  }

  #serve(): StoreService {
    const right = this.setting.time.clock()
    const clock = { ...right, now: () => right.now() + this.#clockOffset }
    return new StoreService({
      engine: this.engine,
      log: this.log(),
      dialect: 'field',
      notifications: 'subscribed',
      clock,
      publish: () => undefined,
      onDrift: () => undefined,
      onLogHealth: () => undefined,
      onError: error => {
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
    this.server.removeConnection(connection)
    this.#connections.delete(connection.clientId)
    if (!connection.end.keepSession) this.#sessions.delete(connection.clientId)
  }
}
