import mqtt from 'mqtt'
import { connect, type StateStore } from '../../src/client/index.js'
import type { Client } from '../../src/core/mqtt5/peer.js'
import { INVOKE_TOPIC } from '../../src/core/protocol/topics.js'
import { systemClock } from '../../src/core/util/clock.js'
import { BrokerCore } from '../../src/server/broker/core/broker-core.js'
import { Engine } from '../../src/server/engine/engine.js'
import { MemoryLog } from '../../src/server/log/log.js'
import { StoreService } from '../../src/server/service/store-service.js'
import { PageSocket } from './page-socket.js'

const LIMITS = { maximumPacketSize: 1_048_576, maxKeepAliveSeconds: 0, memoryBudget: 16 * 1_048_576 }

/**
 * The broker and the store of the package, in the memory of a page. Clients connect by {@link connect} instead of a
 * WebSocket; all behind the socket is what `serve` runs.
 */
export class PageStore {
  readonly #core: BrokerCore

  constructor() {
    const reportError = (error: unknown): void => console.error(error)
    const service: StoreService = new StoreService({
      engine: new Engine<Client>(),
      log: new MemoryLog(),
      clock: systemClock,
      dialect: 'field',
      notifications: 'registered',
      publish: ({ topic, ...content }) =>
        this.#core.publish({ topic, content, qos: 1, retain: false, expiresAt: undefined }, undefined),
      onDrift: () => undefined,
      onLogHealth: () => undefined,
      onError: reportError,
    })
    this.#core = new BrokerCore(
      { ...LIMITS, clock: systemClock },
      {
        topic: INVOKE_TOPIC,
        checkPublish: (client, message) => service.rules.checkPublish(client, message),
        handlePublish: (client, message) => service.handleRequest(client, message),
        maySubscribe: (client, filter) => service.rules.maySubscribe(client, filter),
        onConnected: () => undefined,
        onDisconnected: client => service.removeConnection(client),
        onError: reportError,
      },
    )
    service.resume()
  }
  /** Opens a client whose connection runs over the network. */
  connect(clientId: string, network: Network): StateStore {
    const createWebsocket = (): PageSocket => network.open(this.#core, LIMITS.maximumPacketSize)
    const options = { clientId, protocolVersion: 5, reconnectPeriod: 400, keepalive: 0, createWebsocket } as const
    return connect(mqtt.connect('ws://in-this-page', options))
  }
}

/** The network between clients and the store, which can be cut. */
export class Network {
  readonly #sockets = new Set<PageSocket>()
  #isCut = false

  get isCut(): boolean {
    return this.#isCut
  }

  open(core: BrokerCore, maxPacketSize: number): PageSocket {
    const socket = new PageSocket(this.#isCut ? undefined : core, maxPacketSize, () => this.#sockets.delete(socket))
    this.#sockets.add(socket)
    return socket
  }

  cut(): void {
    this.#isCut = true
    for (const socket of [...this.#sockets]) socket.cut()
  }

  mend(): void {
    this.#isCut = false
  }
}
