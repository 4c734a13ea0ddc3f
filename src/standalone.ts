import { type Observable, Subject } from 'rxjs'
import { Broker, type BrokerHandler, type PublishPacket } from './broker/broker.js'
import { type Clock, systemClock } from './clock.js'
import { Engine } from './engine/engine.js'
import { ArgumentError, shown } from './errors.js'
import type { Dialect } from './protocol/replies.js'
import { StateStoreService } from './server/service.js'
import { type Connection, type Message, type RequestReport, StateStoreServer } from './server/state-store-server.js'

export type { Clock } from './clock.js'
export type { Dialect, Reply } from './protocol/replies.js'
export type { RequestReport } from './server/state-store-server.js'

/** Options of {@link serve}. */
export interface ServeOptions {
  /** Address to listen on. Default `127.0.0.1`: this machine only. */
  readonly host?: string
  /** TCP port, 0 for any free one. Default 1883. */
  readonly port?: number
  /** WebSocket port, 0 for any free one. Default 8083. */
  readonly wsPort?: number
  /** Spelling where the documents and the field differ. Default `field`. */
  readonly dialect?: Dialect
  /**
   * Who gets notifications: `registered` (default, as in the field) every connection that sent KEYNOTIFY; `subscribed`
   * only those that subscribed to their notification topic too, as the documents ask for.
   */
  readonly notifications?: 'registered' | 'subscribed'
  /** Most keys the store holds, and most keys one connection watches. Default 1,000,000. */
  readonly maxKeys?: number
  /** Largest packet a client may send, bytes; it limits the size of values. Default 16 MiB. */
  readonly maximumPacketSize?: number
  /** Clock of versions and expiry. Default the machine's. */
  readonly clock?: Clock
}

/** A glance at a running store. */
export interface StoreStats {
  readonly keys: number
  readonly watches: number
  readonly connections: number
  /** Counts since the start. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
}

/** A running store; see {@link serve}. */
export interface RunningStore extends AsyncDisposable {
  /** `mqtt://host:port` */
  readonly url: string
  /** `ws://host:port` */
  readonly wsUrl: string
  readonly stats: StoreStats
  /** Every request, as it is answered. Hot. */
  readonly requests$: Observable<RequestReport>
  /** Client ids of the open connections. */
  readonly clientIds: readonly string[]
  /** Cuts the network connections of a client without a word; whether there was one. For trying out reconnects. */
  cut(clientId: string): boolean
  /** Disconnects all clients and frees the ports. All keys are lost. */
  close(): Promise<void>
}

const DEFAULT_PACKET_SIZE = 16 * 1024 * 1024
/** What MQTT can count: a variable byte integer (MQTT 5.0, section 1.5.5) and the header before it, bytes. */
const LARGEST_PACKET_SIZE = 268_435_460

/**
 * Runs a state store: an MQTT 5 broker over TCP and WebSocket with the store inside. Keys live in memory.
 * Rejects with the system's error when a port is taken, throws {@link ArgumentError} for a wrong option.
 *
 * @example
 * ```ts
 * await using store = await serve({ port: 0, wsPort: 0 })
 * console.log(store.url)
 * ```
 */
export async function serve(options: ServeOptions = {}): Promise<RunningStore> {
  const { host = '127.0.0.1', port = 1883, wsPort = 8083, clock = systemClock, dialect = 'field' } = options
  const { maxKeys = 1_000_000, maximumPacketSize = DEFAULT_PACKET_SIZE, notifications = 'registered' } = options
  checkPort('port', port)
  checkPort('wsPort', wsPort)
  checkPositive('maxKeys', maxKeys)
  checkPositive('maximumPacketSize', maximumPacketSize)
  if (maximumPacketSize > LARGEST_PACKET_SIZE) {
    throw new ArgumentError(
      `Expected \`maximumPacketSize\` to be at most ${LARGEST_PACKET_SIZE}, got \`${maximumPacketSize}\``,
    )
  }
  checkChoice('dialect', dialect, ['field', 'documented'])
  checkChoice('notifications', notifications, ['registered', 'subscribed'])
  const engine = new Engine<Connection>({ maxKeys })
  const requests$ = new Subject<RequestReport>()
  const service = new StateStoreService(engine, clock, dialect)
  const server = new StateStoreServer(engine, service, requests$, {
    dialect,
    notifications,
    clock,
    publish: message => broker.publish(message),
  })
  const broker: Broker = await Broker.start({ host, port, wsPort, maximumPacketSize }, handlerOf(server))

  const close = async (): Promise<void> => {
    server.close()
    await broker.close()
    requests$.complete()
  }
  return {
    url: `mqtt://${urlHost(host)}:${broker.port}`,
    wsUrl: `ws://${urlHost(host)}:${broker.wsPort}`,
    get stats() {
      const counts = { keys: engine.size, watches: engine.watchers.count, connections: broker.connectionCount }
      return { ...counts, ...server.counters }
    },
    requests$: requests$.asObservable(),
    get clientIds() {
      return Array.from(broker.connections, connection => connection.clientId)
    },
    cut: clientId => {
      const found = Array.from(broker.connections).filter(connection => connection.clientId === clientId)
      for (const connection of found) connection.cut()
      return found.length > 0
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const handlerOf = (server: StateStoreServer): BrokerHandler => ({
  refuse: (connection, packet) => server.refuse(connection, messageOf(packet)),
  take: (connection, packet) => server.take(connection, messageOf(packet)),
  maySubscribe: (connection, filter) => server.maySubscribe(connection, filter),
  disconnected: connection => server.drop(connection),
})

function messageOf(packet: PublishPacket): Message {
  const { properties } = packet
  return {
    topic: packet.topic,
    payload: typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload,
    qos: packet.qos,
    responseTopic: properties?.responseTopic,
    correlationData: properties?.correlationData,
    userProperties: properties?.userProperties ?? {},
  }
}

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

function checkPort(name: string, port: number): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return
  throw new ArgumentError(`Expected \`${name}\` to be a port number from 0 to 65535, got \`${port}\` (${typeof port})`)
}

function checkChoice(name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return
  throw new ArgumentError(`Expected \`${name}\` to be one of ${choices.join(', ')}, got \`${shown(value)}\``)
}

function checkPositive(name: string, value: number): void {
  if (Number.isInteger(value) && value > 0) return
  throw new ArgumentError(`Expected \`${name}\` to be a positive integer, got \`${value}\` (${typeof value})`)
}
