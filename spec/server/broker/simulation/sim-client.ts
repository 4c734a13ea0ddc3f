import type { IConnackPacket, IPublishPacket, Packet } from 'mqtt-packet'
import type { Oracle } from './oracle.js'
import { numberOf, type Publication, payloadOf } from './publication.js'
import type { ConnectionAction, Step } from './schedule.js'
import type { SimLink } from './sim-link.js'

interface Unacknowledged {
  readonly publication: Publication
  isReceived: boolean
}

/** An MQTT client that follows the specification within its plan. */
export class SimClient {
  readonly clientId: string
  readonly version: 4 | 5
  link: SimLink | undefined
  holdsAcknowledgements = false
  stalled = false
  readonly #oracle: Oracle
  readonly #unacknowledged = new Map<number, Unacknowledged>()
  /** Unreleased QoS 2 messages by packet id. */
  readonly #received = new Map<number, number | undefined>()
  /** Rejected messages by packet id. A message is retransmitted if its rejection is lost. */
  readonly #rejected = new Map<number, number | undefined>()
  readonly #aliases = new Map<number, string>()
  readonly #announced = new Set<string>()
  #held: Packet[] = []
  #ready = false
  #isConnackPending = false
  #requestedCleanStart = false
  #requests = 0

  constructor(clientId: string, version: 4 | 5, oracle: Oracle) {
    this.clientId = clientId
    this.version = version
    this.#oracle = oracle
  }

  get ready(): boolean {
    return this.#ready && this.link !== undefined && !this.link.hasFinished
  }

  get unacknowledged(): number {
    return this.#unacknowledged.size
  }

  connect(link: SimLink, step: Extract<Step, { type: 'connect' }>, will: Publication | undefined): void {
    this.link = link
    this.#ready = false
    this.stalled = false
    this.#held = []
    this.#aliases.clear()
    this.#announced.clear()
    const { expiry, receiveMaximum, small, aliases, keepAlive } = step
    // The last CONNECT got no CONNACK. The client cannot know whether its session survived, so it starts clean.
    const unsure =
      this.#isConnackPending && (this.#requestedCleanStart || this.#unacknowledged.size + this.#received.size > 0)
    const clean = this.version === 4 ? unsure || expiry === 0 : unsure || step.clean
    if (clean) this.#forget()
    this.#requestedCleanStart = clean
    this.#isConnackPending = true
    const properties = {
      sessionExpiryInterval: expiry,
      receiveMaximum,
      ...(small && { maximumPacketSize: 120 }),
      topicAliasMaximum: aliases,
    }
    link.up.push({
      cmd: 'connect',
      clientId: this.clientId,
      protocolId: 'MQTT',
      protocolVersion: this.version,
      clean,
      keepalive: keepAlive,
      ...(this.version === 5 && { properties }),
      ...(will && { will: this.#will(will, step.will?.delay ?? 0) }),
    })
  }

  publish(publication: Publication, alias: boolean): void {
    const { link } = this
    if (!this.ready || link === undefined) return
    if (publication.qos === 0) {
      this.#send(publication, 0, false, alias)
      return
    }
    let packetId = 1
    while (this.#unacknowledged.has(packetId)) packetId++
    this.#unacknowledged.set(packetId, { publication, isReceived: false })
    this.#send(publication, packetId, false, alias)
  }

  /** Performs an action that concerns the connection rather than messages. */
  perform(action: ConnectionAction): void {
    const isV5 = this.version === 5
    if (action.type === 'subscribe') {
      const { filter, qos, noLocal, retainAsPublished, retainHandling, id } = action
      const options = isV5 && { nl: noLocal, rap: retainAsPublished, rh: retainHandling }
      const properties = isV5 && id !== undefined && { properties: { subscriptionIdentifier: id } }
      const subscriptions = [{ topic: filter, qos, ...options }]
      this.#request(messageId => ({ cmd: 'subscribe', messageId, subscriptions, ...properties }))
    } else if (action.type === 'unsubscribe')
      this.#request(messageId => ({ cmd: 'unsubscribe', messageId, unsubscriptions: [action.filter] }))
    else if (action.type === 'ping') this.#request(() => ({ cmd: 'pingreq' }))
    else if (action.type === 'hold') this.holdsAcknowledgements = true
    else if (action.type === 'stall') this.stalled = true
    else if (action.type === 'acknowledge') this.#acknowledge(action.refusing, action.last)
    else if (action.type === 'release') {
      this.holdsAcknowledgements = false
      while (this.ready && this.#held.length > 0) this.#acknowledge(false, false)
      this.stalled = false
    } else {
      if (action.type === 'disconnect') {
        const { withWill, expiry } = action
        const properties = expiry !== undefined && { properties: { sessionExpiryInterval: expiry } }
        const reason = isV5 && { reasonCode: withWill ? 0x04 : 0, ...properties }
        this.#request(() => ({ cmd: 'disconnect', ...reason }))
      }
      if (this.link) this.link.hasFinished = true
      this.link = undefined
    }
  }

  receive(link: SimLink, packet: Packet): void {
    if (link !== this.link) return
    if (packet.cmd === 'connack') this.#welcomed(link, packet)
    else if (packet.cmd === 'publish') this.#published(link, packet)
    else if (packet.cmd === 'pubrel') {
      this.#received.delete(packet.messageId ?? 0)
      this.#answer({ cmd: 'pubcomp', messageId: packet.messageId ?? 0, reasonCode: 0 })
    } else if (packet.cmd === 'puback' || packet.cmd === 'pubcomp') this.#done(packet.messageId ?? 0, packet)
    else if (packet.cmd === 'pubrec') this.#halfDone(packet.messageId ?? 0, packet)
  }

  #request(packet: (packetId: number) => Packet): void {
    if (this.ready) this.link?.up.push(packet(60_000 + ++this.#requests))
  }

  /** Acknowledges the first or the last message that the client held back. */
  #acknowledge(refusing: boolean, last: boolean): void {
    if (!this.ready) return
    const packet = last ? this.#held.pop() : this.#held.shift()
    if (packet === undefined) return
    const refusable = packet.cmd === 'puback' || packet.cmd === 'pubrec'
    if (!refusing || !refusable || this.version === 4) this.link?.up.push(packet)
    else {
      if (packet.cmd === 'pubrec') this.#refuse(packet.messageId ?? 0)
      this.link?.up.push({ ...packet, reasonCode: 0x97 })
    }
  }

  #welcomed(link: SimLink, { sessionPresent }: IConnackPacket): void {
    this.#ready = true
    this.#isConnackPending = false
    if (!sessionPresent) {
      this.#forget()
      return
    }
    for (const [packetId, { publication, isReceived: received }] of this.#unacknowledged) {
      if (received) link.up.push({ cmd: 'pubrel', messageId: packetId, reasonCode: 0 })
      else this.#send(publication, packetId, true, false)
    }
  }

  #refuse(packetId: number): void {
    this.#rejected.set(packetId, this.#received.get(packetId))
    this.#received.delete(packetId)
  }

  #forget(): void {
    this.#rejected.clear()
    this.#unacknowledged.clear()
    this.#received.clear()
  }

  #published(link: SimLink, packet: IPublishPacket): void {
    const alias = packet.properties?.topicAlias
    if (alias !== undefined && packet.topic !== '') this.#aliases.set(alias, packet.topic)
    const topic = packet.topic === '' ? this.#aliases.get(alias ?? 0) : packet.topic
    if (topic === undefined) this.#oracle.reportViolation(`${this.clientId} received an unknown alias`)
    const named = { ...packet, topic: topic ?? '' }
    const messageId = packet.messageId ?? 0
    if (packet.qos === 2) {
      const number = numberOf(packet)
      const isRefused = this.#rejected.has(messageId) && this.#rejected.get(messageId) === number
      const again = this.#received.has(messageId) || (packet.dup && isRefused)
      if (!again) this.#oracle.onDelivered(link, named)
      this.#rejected.delete(messageId)
      this.#received.set(messageId, number)
      this.#answer({ cmd: 'pubrec', messageId, reasonCode: 0 })
      return
    }
    this.#oracle.onDelivered(link, named)
    if (packet.qos === 1) this.#answer({ cmd: 'puback', messageId, reasonCode: 0 })
  }

  #answer(packet: Packet): void {
    if (this.holdsAcknowledgements) this.#held.push(packet)
    else if (this.ready) this.link?.up.push(packet)
  }

  #done(packetId: number, { reasonCode = 0 }: { reasonCode?: number | undefined }): void {
    const done = this.#unacknowledged.get(packetId)
    this.#unacknowledged.delete(packetId)
    if (done?.publication.qos === 1) this.#oracle.onAcknowledged(done.publication, reasonCode >= 0x80)
  }

  #halfDone(packetId: number, { reasonCode = 0 }: { reasonCode?: number | undefined }): void {
    const half = this.#unacknowledged.get(packetId)
    if (half === undefined) return
    if (!half.isReceived) this.#oracle.onAcknowledged(half.publication, reasonCode >= 0x80)
    if (reasonCode >= 0x80) {
      this.#unacknowledged.delete(packetId)
      return
    }
    half.isReceived = true
    this.link?.up.push({ cmd: 'pubrel', messageId: packetId, reasonCode: 0 })
  }

  #send(publication: Publication, messageId: number, dup: boolean, alias: boolean): void {
    const { topic, qos, retain, expiry, number } = publication
    const topicAlias = alias && this.version === 5 ? 1 + topic.length : undefined
    const known = topicAlias !== undefined && this.#announced.has(`${topicAlias} ${topic}`)
    if (topicAlias !== undefined) {
      for (const other of this.#announced) if (other.startsWith(`${topicAlias} `)) this.#announced.delete(other)
      this.#announced.add(`${topicAlias} ${topic}`)
    }
    const properties = {
      correlationData: Buffer.from(`${number}`),
      ...(expiry !== undefined && { messageExpiryInterval: expiry }),
      ...(topicAlias !== undefined && { topicAlias }),
    }
    publication.sent++
    this.link?.up.push({
      cmd: 'publish',
      topic: known ? '' : topic,
      payload: payloadOf(publication),
      qos,
      retain,
      dup,
      ...(qos > 0 && { messageId }),
      ...(this.version === 5 && { properties }),
    })
  }

  #will(publication: Publication, delay: number) {
    const { topic, qos, retain, expiry } = publication
    const properties = {
      willDelayInterval: delay,
      ...(expiry !== undefined && { messageExpiryInterval: expiry }),
    }
    const payload = Buffer.from(payloadOf(publication))
    return { topic, qos, retain, payload, ...(this.version === 5 && { properties }) }
  }
}
