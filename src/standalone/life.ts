import type { Subject } from 'rxjs'
import { Broker, type BrokerHandler } from '../broker/broker.js'
import type { Engine } from '../engine/engine.js'
import { INVOKE_TOPIC } from '../protocol/topics.js'
import { StateStoreService } from '../server/service.js'
import { type Connection, type Message, type RequestReport, StateStoreServer } from '../server/state-store-server.js'
import type { ServeOptions } from './options.js'
import type { ConnectedClient } from './running-store.js'

/** Broker and store from a start to an end; the keys may have been there before, and outlive it. */
export class Life {
  /** ms since the Unix epoch */
  readonly startedAt: number
  readonly broker: Broker
  readonly server: StateStoreServer
  readonly #engine: Engine<Connection>
  readonly #handler: Handler

  private constructor(engine: Engine<Connection>, handler: Handler, broker: Broker) {
    this.startedAt = handler.now()
    this.broker = broker
    this.server = handler.server
    this.#engine = engine
    this.#handler = handler
  }

  /** Starts; rejects with the system's error when a port is taken. */
  static async start(
    options: Required<ServeOptions>,
    engine: Engine<Connection>,
    requests$: Subject<RequestReport>,
  ): Promise<Life> {
    const { dialect, notifications, clock } = options
    const service = new StateStoreService(engine, clock, dialect)
    const server = new StateStoreServer(engine, service, requests$, {
      dialect,
      notifications,
      clock,
      publish: message => broker.publish(message),
    })
    const handler = new Handler(server, () => clock.now())
    const broker: Broker = await Broker.start(options, handler)
    // Keys that were there before expire.
    server.resume()
    return new Life(engine, handler, broker)
  }

  get clients(): readonly ConnectedClient[] {
    return Array.from(this.broker.connections, connection => ({
      clientId: connection.clientId,
      since: this.#handler.since(connection) ?? this.startedAt,
      watches: this.#engine.watchers.countOf(connection),
    }))
  }

  /** The connections of a client. */
  connectionsOf(clientId: string): readonly (Connection & { cut(): void })[] {
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

  /** Tells every client, and frees the ports. */
  async close(): Promise<void> {
    this.server.pause()
    await this.broker.close()
  }

  /** Ends as a process that is killed: connections are cut without a word, and what was on its way is lost. */
  async die(): Promise<void> {
    this.#handler.dead = true
    this.server.pause()
    this.broker.gate.destroy()
    await this.broker.close()
    for (const connection of this.broker.connections) this.server.drop(connection)
  }
}

/** What the broker asks of the store. */
class Handler implements BrokerHandler {
  readonly topic = INVOKE_TOPIC
  readonly server: StateStoreServer
  /** Wall time, ms. */
  readonly now: () => number
  /** Nothing is answered any more, last wills included. */
  dead = false
  readonly #since = new WeakMap<Connection, number>()

  constructor(server: StateStoreServer, now: () => number) {
    this.server = server
    this.now = now
  }

  /** When a connection came, ms since the Unix epoch. */
  since(connection: Connection): number | undefined {
    return this.#since.get(connection)
  }

  refuse(connection: Connection, message: Message): ReturnType<StateStoreServer['refuse']> {
    return this.server.refuse(connection, message)
  }

  take(connection: Connection, message: Message): void {
    if (!this.dead) this.server.take(connection, message)
  }

  maySubscribe(connection: Connection, filter: string): boolean {
    return this.server.maySubscribe(connection, filter)
  }

  connected(connection: Connection): void {
    this.#since.set(connection, this.now())
  }

  disconnected(connection: Connection): void {
    this.server.drop(connection)
  }
}
