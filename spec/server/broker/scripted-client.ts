import type { IConnectPacket, IPublishPacket, Packet } from 'mqtt-packet'
import { BrokerCore, type CoreOptions } from '../../../src/server/broker/core/broker-core.js'
import type { BrokerHandler } from '../../../src/server/broker/session/handler.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openHandler } from '../../support/open-broker.js'
import { bytesOf } from '../../support/packets.js'
import { SimLink } from './simulation/sim-link.js'

/** Opens a broker without sockets on a manual clock, with scripted clients. */
export function openCore(handler: Partial<BrokerHandler> = {}, bounds: Partial<CoreOptions> = {}) {
  const clock = new ManualClock()
  const options = { clock, maximumPacketSize: 100_000, maxKeepAliveSeconds: 0, memoryBudget: 1e9, ...bounds }
  const core = new BrokerCore(options, { ...openHandler, ...handler })
  const open = (version: 4 | 5 = 5): ScriptedClient => new ScriptedClient(core, version)
  const connect = (clientId: string, of: Partial<IConnectPacket> = {}): ScriptedClient => {
    const client = open(of.protocolVersion === 4 ? 4 : 5)
    client.connect(clientId, of)
    return client
  }
  return { core, clock, open, connect }
}

export class ScriptedClient {
  readonly got: Packet[] = []
  readonly link: SimLink
  /** The number of steps of queued work, between which a scheduler may serve other clients. */
  steps = 0
  readonly #connection: ReturnType<BrokerCore['accept']>

  constructor(core: BrokerCore, version: 4 | 5) {
    const nothing = (): void => undefined
    const reportViolation = (problem: string): void => {
      throw new Error(problem)
    }
    this.link = new SimLink(version, {
      sent: (_, { packet }) => this.got.push(packet),
      onEnded: nothing,
      reportViolation,
    })
    this.#connection = core.accept(this.link)
    this.link.onWake = () => {
      while (this.#connection.processNext()) this.steps++
    }
  }

  get ended(): boolean {
    return this.#connection.isEnded
  }

  connect(clientId: string, of: Partial<IConnectPacket> = {}): void {
    const usual = { protocolId: 'MQTT', protocolVersion: this.link.version, clean: true, keepalive: 0 } as const
    this.say({ cmd: 'connect', clientId, ...usual, ...of })
  }

  say(...packets: Packet[]): Packet[] {
    const before = this.got.length
    for (const packet of packets) {
      this.#connection.recordActivity()
      this.#connection.receive(bytesOf(packet, this.link.version))
      while (this.#connection.processNext()) this.steps++
    }
    this.link.flush()
    return this.got.slice(before)
  }

  subscribe(topic: string, qos: 0 | 1 | 2 = 1): Packet[] {
    return this.say({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos }] })
  }

  publish(topic: string, payload: string, of: Partial<IPublishPacket> = {}): Packet[] {
    return this.say({ cmd: 'publish', topic, payload, qos: 1, messageId: 7, dup: false, retain: false, ...of })
  }

  /** Sends a packet and breaks the connection before queued work is processed. */
  sayAndVanish(packet: Packet): void {
    this.#connection.receive(bytesOf(packet))
    this.lose()
  }

  lose(): void {
    this.#connection.onNetworkClosed()
  }

  get messages(): IPublishPacket[] {
    this.link.flush()
    return this.got.filter((packet): packet is IPublishPacket => packet.cmd === 'publish')
  }

  get last(): Packet | undefined {
    this.link.flush()
    return this.got.at(-1)
  }
}
