import type { Subject } from 'rxjs'
import { systemClock } from '../base/clock.js'
import { Broker, type BrokerHandler } from '../broker/broker.js'
import type { Log, LogFailure } from '../log/log.js'
import type { Incoming } from '../packet/publish.js'
import * as REASON from '../packet/reason-codes.js'
import type { Client, Refusal } from '../peer/client.js'
import { INVOKE_TOPIC } from '../protocol/topics.js'
import { StateStoreService } from '../server/service.js'
import { type RequestReport, StateStoreServer } from '../server/state-store-server.js'
import { brokerQuotas, keyQuotas } from './broker-quotas.js'
import type { Door } from './door.js'
import { Exceeded } from './exceeded.js'
import type { Guard } from './guard.js'
import type { ServeOptions } from './options.js'
import { volatileRule } from './persistence.js'
import type { ConnectedClient, Fault } from './running-store.js'
import type { Opened } from './storage.js'

/** Broker and store from a start to an end; the keys may have been there before, and outlive it. */
export class Life {
  /** ms since the Unix epoch */
  readonly startedAt: number
  readonly broker: Broker
  readonly server: StateStoreServer
  readonly #engine: Opened['engine']
  readonly #handler: Handler
  readonly #log: Log

  private constructor(engine: Opened['engine'], handler: Handler, broker: Broker, log: Log) {
    this.startedAt = handler.now()
    this.broker = broker
    this.server = handler.server
    this.#engine = engine
    this.#handler = handler
    this.#log = log
  }

  /** Starts; rejects with the system's error when a port is taken. */
  static async start(
    options: Required<ServeOptions>,
    { engine, log }: Opened,
    requests$: Subject<RequestReport>,
    drift$: Subject<number>,
    faults$: Subject<Fault>,
    stored: (failure: LogFailure | undefined) => void,
    door: Door,
  ): Promise<Life> {
    const { dialect, notifications, clock } = options
    const { guard } = door
    const exceeded = new Exceeded(door)
    const service = new StateStoreService(engine, dialect, volatileRule(options))
    const server = new StateStoreServer(engine, service, log, requests$, {
      dialect,
      notifications,
      clock,
      rights: guard?.judges ? guard : undefined,
      ownerOf: keyQuotas(options),
      refused: (connection, action, target) => exceeded.forbidden(connection, action, target),
      exceeded: (connection, { payload }) => exceeded.request(connection, payload),
      publish: message => broker.publish(message),
      drifted: drift => drift$.next(drift),
      stored,
      faulted: error => faults$.next({ clientId: '', error }),
    })
    const handler = new Handler(server, engine, () => clock.now(), faults$, door, exceeded)
    // Connections live by the machine's clock, whatever that of the keys says.
    const { maximumBufferedBytes: memoryBudget, maxConnections, maxConnectionsPerAddress } = options
    const connections = { maxConnections, maxConnectionsPerAddress }
    const broker: Broker = await Broker.start(
      {
        ...options,
        memoryBudget,
        connections,
        quotas: brokerQuotas(options),
        clock: systemClock,
      },
      handler,
    )
    // Keys that were there before expire.
    server.resume()
    return new Life(engine, handler, broker, log)
  }

  get clients(): readonly ConnectedClient[] {
    return Array.from(this.broker.connections, connection => ({
      clientId: connection.clientId,
      since: this.#handler.since(connection) ?? this.startedAt,
      watches: this.#engine.watchers.countOf(connection),
    }))
  }

  /** The connections of a client. */
  connectionsOf(clientId: string): readonly (Client & { cut(): void })[] {
    return Array.from(this.broker.connections).filter(connection => connection.clientId === clientId)
  }

  /** Nothing moves, nothing expires. */
  freeze(): void {
    this.server.pause()
    this.broker.gate.freeze()
  }

  thaw(): void {
    this.server.resume()
    this.broker.gate.thaw()
  }

  /** Another policy is in force. Who watches globs is disconnected, and may come back: other keys may be readable now. */
  review(): void {
    this.broker.review()
    for (const connection of Array.from(this.broker.connections)) {
      if (this.#engine.watchers.globs.countOf(connection) > 0)
        connection.disconnect(REASON.administrativeAction, 'what a watched glob shows may be other keys now')
    }
  }

  /** Tells every client, and frees the ports. */
  async close(): Promise<void> {
    this.server.pause()
    await this.broker.close()
    await this.#log.close()
  }

  /** Ends as a process that is killed: connections are cut without a word, and what was on its way is lost. */
  async die(): Promise<void> {
    this.server.stop()
    await this.broker.die()
    await this.#log.close()
  }
}

/** What the broker asks of the store. */
class Handler implements BrokerHandler {
  readonly topic = INVOKE_TOPIC
  readonly server: StateStoreServer
  /** Wall time, ms. */
  readonly now: () => number
  readonly #since = new WeakMap<Client, number>()
  readonly authenticate?: NonNullable<BrokerHandler['authenticate']>
  readonly #faults$: Subject<Fault>
  readonly #exceeded: Exceeded
  readonly #guard: Guard | undefined
  readonly #watchedBy: (client: Client) => Iterable<Uint8Array>

  constructor(
    server: StateStoreServer,
    engine: Opened['engine'],
    now: () => number,
    faults$: Subject<Fault>,
    { guard }: Door,
    exceeded: Exceeded,
  ) {
    this.#watchedBy = client => engine.watchedBy(client)
    this.#guard = guard
    this.#exceeded = exceeded
    if (guard) this.authenticate = (client, credentials) => guard.authenticate(client, credentials)
    this.server = server
    this.now = now
    this.#faults$ = faults$
  }

  /** When a connection came, ms since the Unix epoch. */
  since(connection: Client): number | undefined {
    return this.#since.get(connection)
  }

  refuse(client: Client, message: Incoming): Refusal | undefined {
    return this.server.rules.refuse(client, message)
  }

  take(client: Client, message: Incoming): boolean {
    return this.server.take(client, message)
  }

  maySubscribe(client: Client, filter: string): boolean {
    return this.server.rules.maySubscribe(client, filter)
  }

  connected(connection: Client): void {
    this.#since.set(connection, this.now())
    this.#guard?.entered(connection)
  }

  disconnected(connection: Client): void {
    this.server.drop(connection)
  }

  shutOut(connection: Client, reason: string): void {
    this.#guard?.shutOut(connection, reason)
  }

  /** By a watch of a key that it may not read. */
  overreaches(connection: Client): boolean {
    const guard = this.#guard
    if (!guard?.judges) return false
    for (const key of this.#watchedBy(connection)) if (!guard.stillReads(connection, key)) return true
    return false
  }

  responseInformation(clientId: string): string {
    return `clients/${clientId}`
  }

  exceeded(client: Client, action: 'connect' | 'publish' | 'subscribe', target: string): void {
    this.#exceeded.name(client, action, target)
  }

  failed(error: unknown, clientId: string): void {
    this.#faults$.next({ clientId, error })
  }
}
