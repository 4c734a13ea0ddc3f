import type { IConnackPacket, IPublishPacket, Packet } from 'mqtt-packet'
import { TestClient } from '../../../support/test-client.js'
import type { Answers, Connect } from './script.js'

export type Event = { readonly packet: Packet; readonly label?: string } | { readonly closed: true }

interface Unanswered {
  readonly cmd: 'puback' | 'pubrec' | 'pubcomp'
  readonly messageId: number
  readonly label: string
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

interface Outgoing {
  readonly packet: IPublishPacket
  received: boolean
}

/** A client of a script, with all its successive connections. */
export class Participant {
  wire: TestClient | undefined
  terms: Connect | undefined
  readonly sends: Map<string, number>
  ignoresPubrec = false
  aliasesTaken = 0
  mayHaveSession = false
  #events: Event[] = []
  #sent = 0
  #nextId = 0
  readonly #outgoing = new Map<number, Outgoing>()
  #unanswered: Unanswered[] = []
  readonly #labels = new Map<number, string>()
  readonly #aliasesIn = new Map<number, string>()
  readonly #aliasesOut = new Map<number, string>()
  readonly #unheard = new Set<number>()

  constructor(sends: Map<string, number>) {
    this.sends = sends
  }

  get isConnected(): boolean {
    return this.wire?.ended === false
  }

  get answers(): Answers {
    return this.terms?.answers ?? 'all'
  }

  get isPersistent(): boolean {
    if (this.terms === undefined) return false
    return this.terms.version === 5 ? this.terms.expiry > 0 : !this.terms.clean
  }

  get hasDelayedWill(): boolean {
    return (this.terms?.will?.delay ?? 0) > 0
  }

  takeEvents(): Event[] {
    const events = this.#events
    this.#events = []
    return events
  }

  async connect(port: number, terms: Connect, packet: Packet): Promise<void> {
    const old = this.wire
    this.#aliasesIn.clear()
    this.#aliasesOut.clear()
    this.#unanswered = []
    this.terms = terms
    if (packet.cmd === 'connect' && packet.will) this.#count(packet.will)
    this.mayHaveSession ||= this.isPersistent
    const wire = TestClient.to(`mqtt://127.0.0.1:${port}`, terms.version)
    wire.onPacket = heard => void (heard.cmd === 'pingresp' ? wire.packets.push(heard) : this.#receive(wire, heard))
    this.wire = wire
    let greeted = false
    this.#greet = () => {
      greeted = true
    }
    wire.send(packet)
    await wire.until(() => greeted)
    await old?.until(() => false)
    if (old) this.#events.push({ closed: true })
  }

  /** Resolves when all packets, including responses, have been processed. */
  async settled(): Promise<void> {
    let before: number
    do {
      before = this.#sent
      await this.answered()
    } while (this.isConnected && this.#sent !== before)
  }

  /** Resolves when the broker has processed all packets sent so far, or has closed the connection. */
  async answered(): Promise<void> {
    const { wire } = this
    if (wire === undefined) return
    wire.packets.length = 0
    wire.send({ cmd: 'pingreq' })
    await wire.until(() => wire.packets.length > 0)
  }

  send(packet: Packet): void {
    if (!this.isConnected) return
    this.#sent++
    this.wire?.send(packet)
  }

  publish(packet: IPublishPacket, alias?: number, unheard = false): void {
    this.#count(packet)
    if (packet.qos === 0) {
      this.send(this.#aliased(packet, alias))
      return
    }
    const messageId = this.#freeId()
    if (unheard) this.#unheard.add(messageId)
    this.#outgoing.set(messageId, { packet: { ...packet, messageId }, received: false })
    this.send(this.#aliased({ ...packet, messageId }, alias))
  }

  /** Acknowledges one held message. The choice is the same with every broker, regardless of the order of arrival. */
  answerOne(): void {
    const [first] = [...this.#unanswered].sort((a, b) => compare(a.label, b.label) || compare(a.cmd, b.cmd))
    if (first === undefined) return
    this.#unanswered = this.#unanswered.filter(other => other !== first)
    this.send({ cmd: first.cmd, messageId: first.messageId, reasonCode: 0 })
  }

  async end(): Promise<void> {
    await this.wire?.end()
    if (this.wire) this.#events.push({ closed: true })
    this.wire = undefined
  }

  #greet: () => void = () => undefined

  #freeId(): number {
    do this.#nextId = (this.#nextId % 60_000) + 1
    while (this.#outgoing.has(this.#nextId))
    return this.#nextId
  }

  #count({ payload, topic }: Pick<IPublishPacket, 'payload' | 'topic'>): void {
    const label = labelOf(payload, topic)
    this.sends.set(label, (this.sends.get(label) ?? 0) + 1)
  }

  #aliased(packet: IPublishPacket, alias?: number): IPublishPacket {
    if (alias === undefined || alias > this.aliasesTaken) return packet
    const known = this.#aliasesOut.get(alias) === packet.topic
    this.#aliasesOut.set(alias, packet.topic)
    return { ...packet, topic: known ? '' : packet.topic, properties: { ...packet.properties, topicAlias: alias } }
  }

  #receive(wire: TestClient, packet: Packet): void {
    // After a takeover, only the end of the old connection is recorded.
    if (wire !== this.wire) {
      this.#events.push({ packet })
      return
    }
    if (packet.cmd === 'publish') this.#takePublish(packet)
    else if (packet.cmd === 'pubrel') this.#takePubrel(packet.messageId ?? 0, packet)
    else if (packet.cmd === 'puback' || packet.cmd === 'pubrec' || packet.cmd === 'pubcomp') {
      this.#takeAcknowledgement(packet.messageId ?? 0, packet)
    } else {
      this.#events.push({ packet })
      if (packet.cmd === 'connack') this.#greeted(packet)
    }
  }

  #greeted({ sessionPresent, properties }: IConnackPacket): void {
    this.#resume(sessionPresent)
    this.aliasesTaken = properties?.topicAliasMaximum ?? 0
    this.#greet()
  }

  #resume(sessionPresent: boolean): void {
    if (!sessionPresent) {
      this.#outgoing.clear()
      this.#unheard.clear()
      this.#labels.clear()
    }
    for (const [messageId, { packet, received }] of this.#outgoing) {
      this.#unheard.delete(messageId)
      if (received) this.send({ cmd: 'pubrel', messageId, reasonCode: 0 })
      else {
        this.#count(packet)
        this.send({ ...packet, dup: true })
      }
    }
  }

  #takePublish(received: IPublishPacket): void {
    const packet = this.#withTopic(received)
    const label = labelOf(packet.payload, packet.topic)
    const messageId = packet.messageId ?? 0
    const sameId = !packet.dup || this.#labels.get(messageId) === label
    this.#events.push({ packet, label: sameId ? label : `${label} under another packet id` })
    if (packet.qos === 0) return
    this.#labels.set(messageId, label)
    const cmd = packet.qos === 1 ? 'puback' : 'pubrec'
    if (this.answers === 'none') this.#unanswered.push({ cmd, messageId, label })
    else this.send({ cmd, messageId, reasonCode: 0 })
  }

  #withTopic(packet: IPublishPacket): IPublishPacket {
    const alias = packet.properties?.topicAlias
    if (alias === undefined) return packet
    if (packet.topic !== '') this.#aliasesIn.set(alias, packet.topic)
    return { ...packet, topic: this.#aliasesIn.get(alias) ?? `unknown alias ${alias}` }
  }

  #takePubrel(messageId: number, packet: Packet): void {
    const label = this.#labels.get(messageId) ?? 'unknown'
    this.#events.push({ packet, label })
    if (this.answers === 'all') this.send({ cmd: 'pubcomp', messageId, reasonCode: 0 })
    else this.#unanswered.push({ cmd: 'pubcomp', messageId, label })
  }

  #takeAcknowledgement(messageId: number, packet: Packet & { reasonCode?: number }): void {
    const outgoing = this.#outgoing.get(messageId)
    const label = outgoing ? labelOf(outgoing.packet.payload, outgoing.packet.topic) : 'unknown'
    this.#events.push({ packet, label })
    if (outgoing === undefined || this.#unheard.has(messageId)) return
    if (packet.cmd !== 'pubrec' || (packet.reasonCode ?? 0) >= 0x80) this.#outgoing.delete(messageId)
    else {
      outgoing.received = true
      if (!this.ignoresPubrec) this.send({ cmd: 'pubrel', messageId, reasonCode: 0 })
    }
  }
}

export function labelOf(payload: string | Buffer, topic: string): string {
  const text = payload.toString()
  return text === '' ? `empty ${topic.slice(topic.indexOf('/') + 1)}` : (text.split(' ', 1)[0] ?? '')
}
