import type { Subject } from 'rxjs'
import type { Client } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { randomBytes } from '../../core/util/bytes.js'
import { systemClock } from '../../core/util/clock.js'
import { Broker } from '../broker/broker.js'
import type { Log, LogFailure } from '../log/log.js'
import { type RequestReport, StateStoreServer } from '../service/state-store-server.js'
import type { Opened } from '../storage/storage.js'
import { volatileRule } from '../storage/storage-options.js'
import { brokerQuotas, keyQuotas } from './broker-quotas.js'
import type { Door } from './door.js'
import { Exceeded } from './exceeded.js'
import { Handler } from './handler.js'
import type { ServeOptions } from './options.js'
import type { ConnectedClient, Fault } from './running-store.js'

/** Of several nodes one sees to it that keys expire, most often: each waits so long at most, ms. */
const RELUCTANCE = 25

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
    { engine, log, failure, clock: logClock }: Opened,
    requests$: Subject<RequestReport>,
    drift$: Subject<number>,
    faults$: Subject<Fault>,
    stored: (failure: LogFailure | undefined) => void,
    door: Door,
  ): Promise<Life> {
    const { dialect, notifications, clock } = options
    const { guard } = door
    const exceeded = new Exceeded(door)
    const server = new StateStoreServer({
      engine,
      log,
      requests$,
      isVolatile: volatileRule(options),
      dialect,
      notifications,
      clock: logClock ?? clock,
      reluctance: log.sharing && (() => (RELUCTANCE * (randomBytes(1)[0] ?? 0)) / 256),
      rights: guard?.judges ? guard : undefined,
      ownerOf: keyQuotas(options),
      refused: (connection, action, target) => exceeded.forbidden(connection, action, target),
      exceeded: (connection, { payload }) => exceeded.request(connection, payload),
      publish: message => broker.publish(message),
      drifted: drift => drift$.next(drift),
      stored,
      faulted: error => faults$.next({ clientId: '', error }),
    })
    const handler = new Handler(server, engine, () => clock.now(), faults$, door, exceeded, log.sharing !== undefined)
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
    if (failure !== undefined) server.report(failure)
    return new Life(engine, handler, broker, log)
  }

  /** Why no client is let in, if so; those who are here are sent away when that begins. */
  set away(reason: string | undefined) {
    this.#handler.away = reason
    if (reason === undefined) return
    for (const connection of Array.from(this.broker.connections)) connection.disconnect(REASON.serverBusy, reason)
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
    // What is on its way to other nodes is answered before its client is told to go.
    if (this.#log.sharing) await this.#log.close()
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
