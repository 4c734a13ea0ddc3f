import type { IConnectPacket, IDisconnectPacket, IPublishPacket, Packet } from 'mqtt-packet'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import type { Message } from '../../../../src/server/broker/routing/delivery.js'
import { matchesByTheRules } from '../../../support/reference-filter.js'
import { ConnectionRecord } from './connection-record.js'
import { count, numberIn, numberOf, type Publication, SMALL_PACKET } from './publication.js'
import { DENIED_TOPIC } from './schedule.js'
import { differences, type Expected, type InFlight, keyOf, SessionModel, type Subscribed } from './session-model.js'
import { SharedModel } from './shared-model.js'
import type { Sent, SimLink } from './sim-link.js'
import { WillModel } from './will-model.js'

type Qos = 0 | 1 | 2

/** An oracle that checks a broker's packets against a simple model of the specification. */
export class Oracle {
  readonly violations: string[] = []
  readonly publications = new Map<number, Publication>()
  readonly wills: WillModel
  readonly #shared: SharedModel
  readonly #now: () => number
  readonly #tight: boolean
  readonly #connections = new Map<SimLink, ConnectionRecord>()
  readonly #sessions = new Map<string, SessionModel>()
  readonly #all: SessionModel[] = []
  readonly #retained = new Map<string, { publication: Publication; expiresAt: number | undefined }>()
  readonly #lastAccepted = new Map<string, number>()
  /** Messages that were rejected once. Their retransmissions may be accepted out of order. */
  readonly #rejected = new Set<number>()
  #connecting: ConnectionRecord | undefined
  #batch = 0

  constructor(now: () => number, tight: boolean) {
    this.#now = now
    this.#tight = tight
    this.#shared = new SharedModel(this.reportViolation)
    this.wills = new WillModel(this.reportViolation)
  }

  readonly reportViolation = (problem: string): void => {
    this.violations.push(`${this.#now()} ms: ${problem}`)
  }

  onReceived(link: SimLink, packet: Packet): void {
    const connection = this.#connections.get(link)
    if (connection) connection.lastSeen = this.#now()
    if (packet.cmd === 'connect') this.#onConnect(link, packet)
    else if (connection === undefined) return
    else if (packet.cmd === 'subscribe' || packet.cmd === 'unsubscribe')
      connection.requests.set(packet.messageId ?? 0, packet)
    else if (packet.cmd === 'disconnect') connection.clientDisconnect = packet
    else if (packet.cmd === 'puback') this.#onCompleted(connection, packet.messageId ?? 0, 1)
    else if (packet.cmd === 'pubcomp') this.#onCompleted(connection, packet.messageId ?? 0, 2)
    else if (packet.cmd === 'pubrec') {
      const flight = connection.session?.inFlight.get(packet.messageId ?? 0)
      if (flight?.expected.qos !== 2) return
      flight.isReleased = true
      if ((packet.reasonCode ?? 0) >= 0x80) this.#onCompleted(connection, packet.messageId ?? 0, 2)
    }
  }

  onSent(link: SimLink, { packet, size }: Sent): void {
    const connection = this.#connections.get(link)
    if (connection === undefined) return
    if (connection.small && size > SMALL_PACKET)
      this.reportViolation(`${connection.clientId} received a packet that exceeds its maximum`)
    if (packet.cmd === 'connack')
      this.#onConnack(connection, packet.sessionPresent, packet.reasonCode ?? packet.returnCode ?? 0)
    else if (packet.cmd === 'publish') this.#onPublish(connection, packet)
    else if (packet.cmd === 'pubrel') this.#onPubrel(connection, packet.messageId ?? 0)
    else if (packet.cmd === 'suback') this.#onSuback(connection, packet.messageId ?? 0)
    else if (packet.cmd === 'unsuback') this.#onUnsuback(connection, packet.messageId ?? 0)
    else if (packet.cmd === 'disconnect') this.#onDisconnect(connection, packet)
  }

  /** @param lost - whether the broker sees a network failure */
  onConnectionEnded(link: SimLink, lost: boolean): void {
    const connection = this.#connections.get(link)
    if (connection === undefined || connection.isOver) return
    connection.isOver = true
    const { session, will, serverDisconnect } = connection
    if (session === undefined) return
    const clientDisconnect = lost || serverDisconnect ? undefined : connection.clientDisconnect
    if (serverDisconnect?.properties?.reasonString === 'too many unacknowledged messages') session.expiry = 0
    session.expiry = clientDisconnect?.properties?.sessionExpiryInterval ?? session.expiry
    session.link = undefined
    session.immediate = []
    session.endsAt = this.#now() + 1000 * session.expiry
    if (session.expiry === 0) session.isEnded = true
    if (this.#tight) session.mayHaveEnded = true
    if (will === undefined || (clientDisconnect && clientDisconnect.reasonCode !== 0x04)) return
    this.wills.onConnectionEnded(will, session, this.#now() + 1000 * Math.min(connection.willDelay, session.expiry))
  }

  /** Called when the broker accepts a message, before it is routed. */
  onPublished(message: Message): void {
    const publication = this.onAccepted(numberIn(message), message.topic)
    if (publication === undefined) return
    const { number, qos, retain, what, expiry } = publication
    const expiresAt = expiry === undefined ? undefined : this.#now() + 1000 * expiry
    if (message.expiresAt !== expiresAt || message.qos !== qos || message.retain !== retain)
      this.reportViolation(`${number} was modified`)
    if (retain && what === 'empty') this.#retained.delete(message.topic)
    else if (retain) this.#retained.set(message.topic, { publication, expiresAt })
    this.#batch++
    const alive = this.#all.filter(session => session.isAlive(this.#now()))
    for (const session of alive) this.#expectDelivery(session, publication, expiresAt)
    this.#shared.onPublished(publication, expiresAt, alive)
  }

  /** Called when a retained message exceeds a limit and is not routed. */
  onRetainRejected(message: Message): void {
    const publication = this.publications.get(numberIn(message))
    if (!this.#tight) this.reportViolation('a retained message was rejected within the limits')
    if (publication) publication.accepted--
    this.#rejected.add(numberIn(message))
    this.#retained.delete(message.topic)
    for (const session of this.#all) session.discardUnsendable(({ batch }) => batch === this.#batch)
  }

  onResponse(clientId: string, publication: Publication): void {
    const session = this.#sessions.get(clientId)
    if (session === undefined) return
    const matches = this.#matches(session, publication.topic)
    const qos = matches.length > 0 && matches.every(({ qos }) => qos === 0) ? 0 : 1
    const ids = matches.flatMap(({ id }) => id ?? [])
    session.expect({ publication, qos, retain: false, ids, expiresAt: undefined, batch: ++this.#batch })
    publication.accepted++
  }

  /** Called when a client passes a message to the application. */
  onDelivered(link: SimLink, packet: IPublishPacket): void {
    const session = this.#connections.get(link)?.session
    const number = numberOf(packet)
    if (number === undefined || session === undefined) return
    const key = keyOf(number, packet.qos)
    count(session.receivedCounts, key)
    if (packet.topic.startsWith('s/')) this.#shared.onDelivered(number)
    else if (packet.qos !== 1 && (session.receivedCounts.get(key) ?? 0) > (session.expectedCounts.get(key) ?? 0))
      this.reportViolation(`${session.clientId} received ${number} too often`)
  }

  /** Called when a client receives the broker's decision about a publication. */
  onAcknowledged({ number, topic, qos, sent, accepted }: Publication, isRejected: boolean): void {
    // With QoS 1, the broker may have accepted only the first copy.
    const once = qos !== 1 || sent === 1
    if (isRejected && accepted > 0 && once) this.reportViolation(`${number} was rejected, but published`)
    if (isRejected && topic !== DENIED_TOPIC && !this.#tight) this.reportViolation(`${number} was rejected`)
    if (!isRejected && accepted === 0) this.reportViolation(`${number} was acknowledged, but not published`)
  }

  checkTurn(): void {
    const now = this.#now()
    for (const session of this.#all) if (!session.link && session.endsAt <= now) session.isEnded = true
    this.wills.checkOverdue(now)
    for (const connection of this.#connections.values()) if (!connection.isOver) this.#checkConnection(connection)
  }

  /** Checks the final state, after all clients have received all messages. */
  checkEnd(): void {
    if (!this.#tight) this.#shared.checkEnd()
    for (const session of this.#sessions.values()) {
      const { clientId, inFlight, expectedCounts, receivedCounts, link } = session
      for (const { publication } of session.discardUnsendable(
        expected => this.#isLate(expected) || this.#isOptional(expected),
      ))
        this.reportViolation(`${clientId} was never sent ${publication.number}`)
      for (const flight of inFlight.values()) {
        if (this.#mayBeDiscarded(flight)) session.waive(flight)
        else this.reportViolation(`${clientId} was not sent ${flight.expected.publication.number} again`)
      }
      if (link === undefined) this.reportViolation(`${clientId} is not connected`)
      for (const [key, times] of expectedCounts) {
        const isUnidentifiable = link?.version === 4 && this.publications.get(key >> 2)?.what === 'empty'
        if (key % 4 > 0 && times > 0 && !receivedCounts.has(key) && !isUnidentifiable)
          this.reportViolation(`${clientId} did not receive ${key >> 2}`)
      }
    }
  }

  onAccepted(number: number, topic: string): Publication | undefined {
    const publication = this.publications.get(number)
    if (publication === undefined) {
      this.reportViolation(`the broker accepted ${number} for ${topic}, which was never published`)
      return undefined
    }
    publication.accepted++
    const { kind, client, qos, sent, accepted } = publication
    if (publication.topic !== topic) this.reportViolation(`${number} arrived under ${topic}`)
    if (kind === 'will') this.wills.onPublished(publication, this.#now(), this.#isEnding)
    if (kind !== 'message') return publication
    if (accepted > (qos === 1 ? sent : 1)) this.reportViolation(`${number} was accepted ${accepted} times`)
    const key = `${client} ${qos}`
    const isOutOfOrder = accepted === 1 && number < (this.#lastAccepted.get(key) ?? 0)
    if (isOutOfOrder && !this.#rejected.has(number)) this.reportViolation(`${number} was accepted out of order`)
    this.#lastAccepted.set(key, Math.max(number, this.#lastAccepted.get(key) ?? 0))
    return publication
  }

  /** Returns whether the client's new connection ends the session. */
  readonly #isEnding = (session: SessionModel): boolean =>
    !session.isAlive(this.#now()) ||
    session.mayHaveEnded ||
    (this.#connecting?.clean === true && this.#sessions.get(this.#connecting.clientId) === session)

  #onConnect(link: SimLink, connect: IConnectPacket): void {
    const connection = new ConnectionRecord(link, connect, this.publications, this.#now())
    this.#connections.set(link, connection)
    this.#connecting = connection
  }

  #onConnack(connection: ConnectionRecord, present: boolean, reasonCode: number): void {
    this.#connecting = undefined
    if (reasonCode !== 0) {
      this.reportViolation(`${connection.clientId} was refused: ${reasonCode}`)
      return
    }
    const previous = this.#sessions.get(connection.clientId)
    if (previous?.link) this.reportViolation(`${connection.clientId} is connected twice`)
    const expectedPresent = !connection.clean && previous?.isAlive(this.#now()) === true
    if (present !== expectedPresent && !(expectedPresent && previous?.mayHaveEnded))
      this.reportViolation(`${connection.clientId} received session present ${present}`)
    const session = previous && present ? previous : this.#begin(connection.clientId)
    if (previous && session !== previous) previous.isEnded = true
    this.wills.onReconnected(session, this.#now())
    session.expiry = Math.min(connection.expiry, LIMIT.sessionExpirySeconds)
    session.link = connection.link
    session.mayHaveEnded = this.#tight
    connection.session = session
  }

  #begin(clientId: string): SessionModel {
    const session = new SessionModel(clientId)
    this.#sessions.set(clientId, session)
    this.#all.push(session)
    return session
  }

  #onDisconnect(connection: ConnectionRecord, packet: IDisconnectPacket): void {
    connection.serverDisconnect = packet
    const { reasonCode = 0, properties } = packet
    const isTooEarly = this.#now() < connection.lastSeen + connection.keepAliveTimeoutMs
    if (reasonCode === 0x8d && (connection.keepAliveTimeoutMs === 0 || isTooEarly))
      this.reportViolation(`${connection.clientId} was disconnected before its keep-alive timeout`)
    const isMatching = reasonCode === 0x82 && connection.clientDisconnect !== undefined
    if ([0x8b, 0x8d, 0x8e].includes(reasonCode) || isMatching || (this.#tight && reasonCode === 0x97)) return
    this.reportViolation(`${connection.clientId} was disconnected: ${reasonCode} ${properties?.reasonString}`)
  }

  #onCompleted({ session, unacknowledged }: ConnectionRecord, packetId: number, qos: Qos): void {
    const flight = session?.inFlight.get(packetId)
    unacknowledged.delete(packetId)
    if (flight === undefined || flight.expected.qos !== qos || (qos === 2 && !flight.isReleased)) return
    session?.inFlight.delete(packetId)
  }

  #onSuback({ session, requests }: ConnectionRecord, packetId: number): void {
    const packet = requests.get(packetId)
    if (packet?.cmd !== 'subscribe' || session === undefined) return
    const { subscriptions, properties } = packet
    for (const { topic, qos, nl = false, rap = false, rh = 0 } of subscriptions) {
      const id = [properties?.subscriptionIdentifier].flat()[0]
      const subscribed = { qos, noLocal: nl, retainAsPublished: rap, id }
      const isShared = topic.startsWith('$share/')
      const known = (isShared ? session.shared : session.subscriptions).has(topic)
      if (isShared) {
        session.shared.set(topic, subscribed)
        session.hasShared = true
        continue
      }
      session.subscriptions.set(topic, subscribed)
      if (rh === 0 || (rh === 1 && !known)) this.#replay(session, topic, subscribed)
    }
  }

  #replay(session: SessionModel, filter: string, subscribed: Subscribed): void {
    const { qos, id } = subscribed
    this.#batch++
    session.replays.push([filter, subscribed])
    for (const [topic, { publication, expiresAt }] of this.#retained) {
      if (!matchesByTheRules(filter, topic) || (expiresAt !== undefined && expiresAt <= this.#now())) continue
      const grantedQos = Math.min(qos, publication.qos) === 0 ? 0 : Math.min(qos, publication.qos) === 1 ? 1 : 2
      session.expect({
        publication,
        qos: grantedQos,
        retain: true,
        ids: id === undefined ? [] : [id],
        expiresAt,
        batch: this.#batch,
      })
    }
  }

  #onUnsuback({ session, requests }: ConnectionRecord, packetId: number): void {
    const packet = requests.get(packetId)
    if (packet?.cmd !== 'unsubscribe' || session === undefined) return
    for (const filter of packet.unsubscriptions) {
      session.subscriptions.delete(filter)
      session.shared.delete(filter)
      session.replays = session.replays.filter(([replayed]) => replayed !== filter)
      this.#shared.onUnsubscribed(session, filter)
    }
  }

  #matches(session: SessionModel, topic: string): readonly Subscribed[] {
    return [...session.subscriptions].filter(([filter]) => matchesByTheRules(filter, topic)).map(([, of]) => of)
  }

  #expectDelivery(session: SessionModel, publication: Publication, expiresAt: number | undefined): void {
    const local = publication.kind !== 'answer' && publication.client === session.clientId
    const matches = this.#matches(session, publication.topic).filter(({ noLocal }) => !(noLocal && local))
    if (matches.length === 0) return
    const grantedQos = Math.min(publication.qos, Math.max(...matches.map(({ qos }) => qos)))
    session.expect({
      publication,
      qos: grantedQos === 0 ? 0 : grantedQos === 1 ? 1 : 2,
      retain: publication.retain && matches.some(({ retainAsPublished }) => retainAsPublished),
      ids: matches.flatMap(({ id }) => id ?? []),
      expiresAt,
      batch: this.#batch,
    })
  }

  #onPublish(connection: ConnectionRecord, packet: IPublishPacket): void {
    const { session, link, unacknowledged, receiveMaximum } = connection
    const topic = connection.topicOf(packet, this.reportViolation)
    if (session === undefined) {
      this.reportViolation(`${connection.clientId} received a message before CONNACK`)
      return
    }
    const packetId = packet.messageId ?? 0
    const again = packet.qos > 0 && packet.dup && session.inFlight.has(packetId)
    if (again) this.#onRetransmission(connection, session, packet)
    else this.#onFirstTransmission(connection, session, packet, topic)
    if (packet.qos === 0) return
    unacknowledged.add(packetId)
    if (unacknowledged.size > receiveMaximum)
      this.reportViolation(`${connection.clientId} received more than its receive maximum`)
    const flight = session.inFlight.get(packetId)
    if (flight) flight.link = link
  }

  #onRetransmission(connection: ConnectionRecord, session: SessionModel, packet: IPublishPacket): void {
    const flight = session.inFlight.get(packet.messageId ?? 0)
    const number = numberOf(packet)
    if (flight === undefined) return
    if (number !== undefined && number !== flight.expected.publication.number)
      this.reportViolation(`${number} was repeated with the packet id of ${flight.expected.publication.number}`)
    if (flight.isReleased) this.reportViolation(`${number} was repeated after PUBREC`)
    if (flight.link === connection.link) this.reportViolation(`${number} was repeated on the same connection`)
    if (flight.order < connection.lastRetransmitted) this.reportViolation(`${number} was repeated out of order`)
    connection.lastRetransmitted = flight.order
    this.#discardUnsent(connection, session, flight.order)
  }

  #onFirstTransmission(
    connection: ConnectionRecord,
    session: SessionModel,
    packet: IPublishPacket,
    topic: string,
  ): void {
    const { clientId, link } = connection
    const isUnsendable = (expected: Expected): boolean => this.#isUnsendable(connection, expected)
    if (packet.qos > 0) this.#discardUnsent(connection, session)
    if (packet.qos > 0 && session.inFlight.has(packet.messageId ?? 0))
      this.reportViolation(`packet id ${packet.messageId} of ${clientId} is in use twice`)
    if (packet.dup && !this.#tight)
      this.reportViolation(`${clientId} received a repetition of a message that was never sent`)
    if (topic.startsWith('s/')) {
      this.#onFirstShared(connection, session, packet)
      return
    }
    const expected =
      session.takeExpected(packet, link, isUnsendable, this.#isOptional, this.#now()) ??
      this.#expectLateReplay(connection, session, packet, topic)
    if (expected !== undefined) this.#checkDelivery(clientId, expected, packet, topic)
    else if (!this.#hasStartedEarlier(connection, session, packet))
      this.reportViolation(`${clientId} received ${numberOf(packet)} with QoS ${packet.qos} out of order`)
  }

  /**
   * With tight limits, the message may have got its packet id on an earlier connection, and from then on a message does
   * not expire (MQTT 5.0, section 3.3.2.3.3).
   */
  #hasStartedEarlier({ link }: ConnectionRecord, session: SessionModel, packet: IPublishPacket): boolean {
    const { qos, dup, retain, messageId = 0 } = packet
    const publication = this.publications.get(numberOf(packet) ?? -1)
    if (!this.#tight || !dup || publication?.expiry === undefined) return false
    count(session.expectedCounts, keyOf(publication.number, qos))
    session.recordInFlight(
      messageId,
      { publication, qos, retain, ids: [], expiresAt: this.#now(), batch: ++this.#batch },
      link,
    )
    return true
  }

  /** With tight limits, retained messages wait for capacity, and those that are current at that time are sent. */
  #expectLateReplay(
    { link }: ConnectionRecord,
    session: SessionModel,
    packet: IPublishPacket,
    topic: string,
  ): Expected | undefined {
    const retained = this.#retained.get(topic)
    if (!this.#tight || !packet.retain || retained === undefined) return undefined
    if (retained.publication.number !== numberOf(packet)) return undefined
    const { qos } = packet
    const gotId = [packet.properties?.subscriptionIdentifier ?? []].flat()[0]
    const isMatching = session.replays.some(
      ([filter, subscribed]) =>
        matchesByTheRules(filter, topic) &&
        Math.min(subscribed.qos, retained.publication.qos) === qos &&
        subscribed.id === gotId,
    )
    if (!isMatching) return undefined
    const ids = gotId === undefined ? [] : [gotId]
    const expected = { ...retained, qos, retain: true, ids, batch: ++this.#batch }
    count(session.expectedCounts, keyOf(retained.publication.number, qos))
    if (qos > 0) session.recordInFlight(packet.messageId ?? 0, expected, link)
    return expected
  }

  /** Removes messages in flight on earlier connections. @param before - removes only messages with a lower order */
  #discardUnsent(connection: ConnectionRecord, session: SessionModel, previous = Number.POSITIVE_INFINITY): void {
    for (const [packetId, flight] of session.inFlight) {
      if (flight.isReleased || flight.link === connection.link || flight.order >= previous) continue
      if (
        this.#mayBeDiscarded(flight) ||
        (flight.expected.qos === 1 && this.#isUnsendable(connection, flight.expected))
      )
        session.waive(flight)
      else this.reportViolation(`${connection.clientId} was not sent ${flight.expected.publication.number} again`)
      session.inFlight.delete(packetId)
    }
  }

  #onFirstShared(connection: ConnectionRecord, session: SessionModel, packet: IPublishPacket): void {
    const { clientId, link } = connection
    // All messages share one queue, so the broker has discarded all unsendable messages before this one.
    if (packet.qos > 0) this.#makeUnsendableOptional(connection, session)
    const post = this.#shared.onSent(session, numberOf(packet) ?? 0, packet, this.#isEnding)
    if (post === undefined) {
      if (numberOf(packet) !== undefined)
        this.reportViolation(
          `${clientId} received ${numberOf(packet)}, which does not belong to its shared subscriptions`,
        )
      return
    }
    const { publication, expiresAt } = post
    const expected = { publication, qos: packet.qos, retain: false, ids: [], expiresAt, batch: 0 }
    if (packet.qos > 0) session.recordInFlight(packet.messageId ?? 0, expected, link)
  }

  #checkDelivery(clientId: string, expected: Expected, packet: IPublishPacket, topic: string): void {
    const { number, topic: published } = expected.publication
    const wrong = differences(expected, packet, this.#now())
    for (const problem of topic === published ? wrong : ['topic', ...wrong])
      this.reportViolation(`${clientId} received ${number} with a wrong ${problem}`)
  }

  /** Handles PUBREL without a preceding PUBREC: the broker could not retransmit the message. */
  #onPubrel({ clientId, small, session, link }: ConnectionRecord, packetId: number): void {
    const flight = session?.inFlight.get(packetId)
    if (flight === undefined || flight.isReleased) return
    flight.isReleased = true
    if (small && flight.expected.publication.what === 'large' && flight.link !== link) session?.waive(flight)
    else this.reportViolation(`${clientId} received PUBREL ${packetId} before it sent PUBREC`)
  }

  #isUnsendable({ small }: ConnectionRecord, expected: Expected): boolean {
    return this.#isLate(expected) || (small && expected.publication.what === 'large')
  }

  #makeUnsendableOptional(connection: ConnectionRecord, session: SessionModel): void {
    for (const expected of session.expected) expected.isOptional ||= this.#isUnsendable(connection, expected)
  }

  /** At limits, the broker may drop retained and QoS 0 messages. */
  readonly #isOptional = ({ retain, qos, isOptional = false }: Expected): boolean =>
    isOptional || (this.#tight && (retain || qos === 0))

  /** With tight limits, a connection may end in the turn in which a message exceeds the limits. */
  #mayBeDiscarded({ expected }: InFlight): boolean {
    return expected.qos === 1 && (this.#isLate(expected) || (this.#tight && expected.publication.what === 'large'))
  }

  #isLate({ expiresAt }: Expected): boolean {
    return expiresAt !== undefined && expiresAt <= this.#now()
  }

  #checkConnection(connection: ConnectionRecord): void {
    const { session, clientId, receiveMaximum, unacknowledged, keepAliveTimeoutMs, lastSeen } = connection
    if (session === undefined) return
    for (const expected of session.immediate) {
      if (!this.#isUnsendable(connection, expected) && !this.#isOptional(expected))
        this.reportViolation(`${clientId} did not receive ${expected.publication.number} immediately`)
      count(session.expectedCounts, keyOf(expected.publication.number, 0), -1)
    }
    session.immediate = []
    // The broker has sent or discarded all messages within the receive maximum, unless the client must first read.
    const { unsentBytes, isGone } = connection.link
    const isBehind = unsentBytes > LIMIT.readPauseBytes || (this.#tight && isGone)
    if (isBehind) this.#makeUnsendableOptional(connection, session)
    else if (unacknowledged.size < receiveMaximum) {
      const remaining = session.discardUnsendable(
        expected => this.#isUnsendable(connection, expected) || this.#isOptional(expected),
      )
      if (remaining.length > 0) this.reportViolation(`${clientId} was not sent messages within its receive maximum`)
      this.#discardUnsent(connection, session)
    }
    // The broker does not read from a client that does not read, and extends the client's keep-alive.
    if (unsentBytes > LIMIT.readPauseBytes) connection.unreadAt = this.#now()
    else if (keepAliveTimeoutMs > 0 && this.#now() > Math.max(lastSeen, connection.unreadAt) + keepAliveTimeoutMs)
      this.reportViolation(`${clientId} was not disconnected after its keep-alive timeout`)
  }
}
