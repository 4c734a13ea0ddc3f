import type { IConnectPacket, IDisconnectPacket, IPublishPacket, Packet } from 'mqtt-packet'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import type { Message } from '../../../../src/server/broker/routing/delivery.js'
import { matchesByTheRules } from '../../../support/reference-filter.js'
import { count, numberIn, numberOf, type Publication, SMALL_PACKET } from './publication.js'
import { differences, type Flight, keyOf, type Owed, SessionModel, type Subscribed } from './session-model.js'
import { SharedModel } from './shared-model.js'
import type { Sent, SimLink } from './sim-link.js'
import { type Talk, talkOf, topicOf } from './talk.js'
import { WillModel } from './will-model.js'

type Qos = 0 | 1 | 2

/** Judges a broker by the packets it gets and sends, against a model that is as simple as the rules are. */
export class Oracle {
  readonly complaints: string[] = []
  readonly publications = new Map<number, Publication>()
  readonly wills: WillModel
  readonly #shared: SharedModel
  readonly #now: () => number
  readonly #tight: boolean
  readonly #talks = new Map<SimLink, Talk>()
  readonly #sessions = new Map<string, SessionModel>()
  readonly #all: SessionModel[] = []
  readonly #retained = new Map<string, { publication: Publication; expiresAt: number | undefined }>()
  readonly #lastAccepted = new Map<string, number>()
  /** Refused once: what is sent again may have room, and comes late. */
  readonly #refused = new Set<number>()
  #connecting: Talk | undefined
  #batch = 0

  constructor(now: () => number, tight: boolean) {
    this.#now = now
    this.#tight = tight
    this.#shared = new SharedModel(this.complain)
    this.wills = new WillModel(this.complain)
  }

  readonly complain = (what: string): void => {
    this.complaints.push(`${this.#now()} ms: ${what}`)
  }

  /** The broker is about to take a packet. */
  handed(link: SimLink, packet: Packet): void {
    const talk = this.#talks.get(link)
    if (talk) talk.lastSeen = this.#now()
    if (packet.cmd === 'connect') this.#greeted(link, packet)
    else if (talk === undefined) return
    else if (packet.cmd === 'subscribe' || packet.cmd === 'unsubscribe')
      talk.requests.set(packet.messageId ?? 0, packet)
    else if (packet.cmd === 'disconnect') talk.goodbye = packet
    else if (packet.cmd === 'puback') this.#finished(talk, packet.messageId ?? 0, 1)
    else if (packet.cmd === 'pubcomp') this.#finished(talk, packet.messageId ?? 0, 2)
    else if (packet.cmd === 'pubrec') {
      const flight = talk.session?.inFlight.get(packet.messageId ?? 0)
      if (flight?.owed.qos !== 2) return
      flight.released = true
      if ((packet.reasonCode ?? 0) >= 0x80) this.#finished(talk, packet.messageId ?? 0, 2)
    }
  }

  /** The broker has written a packet. */
  sent(link: SimLink, { packet, size }: Sent): void {
    const talk = this.#talks.get(link)
    if (talk === undefined) return
    if (talk.small && size > SMALL_PACKET) this.complain(`${talk.clientId} got a packet that is too large for it`)
    if (packet.cmd === 'connack')
      this.#welcomed(talk, packet.sessionPresent, packet.reasonCode ?? packet.returnCode ?? 0)
    else if (packet.cmd === 'publish') this.#published(talk, packet)
    else if (packet.cmd === 'pubrel') this.#released(talk, packet.messageId ?? 0)
    else if (packet.cmd === 'suback') this.#subscribed(talk, packet.messageId ?? 0)
    else if (packet.cmd === 'unsuback') this.#unsubscribed(talk, packet.messageId ?? 0)
    else if (packet.cmd === 'disconnect') this.#dismissed(talk, packet)
  }

  /** A connection is over for the broker; `lost`: it is told that the network broke. */
  over(link: SimLink, lost: boolean): void {
    const talk = this.#talks.get(link)
    if (talk === undefined || talk.over) return
    talk.over = true
    const { session, will, dismissed } = talk
    if (session === undefined) return
    const goodbye = lost || dismissed ? undefined : talk.goodbye
    if (dismissed?.properties?.reasonString === 'too many unacknowledged messages') session.expiry = 0
    session.expiry = goodbye?.properties?.sessionExpiryInterval ?? session.expiry
    session.link = undefined
    session.passing = []
    session.endsAt = this.#now() + 1000 * session.expiry
    if (session.expiry === 0) session.ended = true
    if (this.#tight) session.doubtful = true
    if (will === undefined || (goodbye && goodbye.reasonCode !== 0x04)) return
    this.wills.left(will, session, this.#now() + 1000 * Math.min(talk.willDelay, session.expiry))
  }

  /** The broker takes a message on; to be told before anybody gets it. */
  publishing(message: Message): void {
    const publication = this.#accepted(numberIn(message), message.topic)
    if (publication === undefined) return
    const { number, qos, retain, what, expiry } = publication
    const expiresAt = expiry === undefined ? undefined : this.#now() + 1000 * expiry
    if (message.expiresAt !== expiresAt || message.qos !== qos || message.retain !== retain)
      this.complain(`${number} was changed`)
    if (retain && what === 'empty') this.#retained.delete(message.topic)
    else if (retain) this.#retained.set(message.topic, { publication, expiresAt })
    this.#batch++
    const alive = this.#all.filter(session => session.alive(this.#now()))
    for (const session of alive) this.#oweTo(session, publication, expiresAt)
    this.#shared.published(publication, expiresAt, alive)
  }

  /** There was no room to retain it, and nobody gets it. */
  refused(message: Message): void {
    const publication = this.publications.get(numberIn(message))
    if (!this.#tight) this.complain('there is room for another retained message')
    if (publication) publication.accepted--
    this.#refused.add(numberIn(message))
    this.#retained.delete(message.topic)
    for (const session of this.#all) session.settle(({ batch }) => batch === this.#batch)
  }

  /** The store takes a message on. */
  stored(number: number, topic: string): void {
    this.#accepted(number, topic)
  }

  /** The store answers a client. */
  answering(clientId: string, publication: Publication): void {
    const session = this.#sessions.get(clientId)
    if (session === undefined) return
    const matches = this.#matches(session, publication.topic)
    const qos = matches.length > 0 && matches.every(({ qos }) => qos === 0) ? 0 : 1
    const ids = matches.flatMap(({ id }) => id ?? [])
    session.owe({ publication, qos, retain: false, ids, expiresAt: undefined, batch: ++this.#batch })
    publication.accepted++
  }

  /** A client hands a message to its application. */
  arrived(link: SimLink, packet: IPublishPacket): void {
    const session = this.#talks.get(link)?.session
    const number = numberOf(packet)
    if (number === undefined || session === undefined) return
    const key = keyOf(number, packet.qos)
    count(session.got, key)
    if (packet.topic.startsWith('s/')) this.#shared.arrived(number)
    else if (packet.qos !== 1 && (session.got.get(key) ?? 0) > (session.promised.get(key) ?? 0))
      this.complain(`${session.clientId} got ${number} more often than it should`)
  }

  /** After each turn of the broker. */
  settle(): void {
    const now = this.#now()
    for (const session of this.#all) if (!session.link && session.endsAt <= now) session.ended = true
    this.wills.settle(now)
    for (const talk of this.#talks.values()) if (!talk.over) this.#checkTalk(talk)
  }

  /** At the end, when everybody was there and took what there was. */
  settled(): void {
    if (!this.#tight) this.#shared.settled()
    for (const session of this.#sessions.values()) {
      const { clientId, inFlight, promised, got, link } = session
      for (const { publication } of session.settle(owed => this.#isLate(owed) || this.#isOptional(owed)))
        this.complain(`${clientId} never got ${publication.number}`)
      for (const flight of inFlight.values()) {
        if (this.#mayBeGivenUp(flight)) session.excuse(flight)
        else this.complain(`${clientId} was not sent ${flight.owed.publication.number} again`)
      }
      if (link === undefined) this.complain(`${clientId} is not connected`)
      for (const [key, times] of promised) {
        const unseen = link?.version === 4 && this.publications.get(key >> 2)?.what === 'empty'
        if (key % 4 > 0 && times > 0 && !got.has(key) && !unseen) this.complain(`${clientId} did not get ${key >> 2}`)
      }
    }
  }

  get sessions(): Iterable<SessionModel> {
    return this.#sessions.values()
  }

  #accepted(number: number, topic: string): Publication | undefined {
    const publication = this.publications.get(number)
    if (publication === undefined) {
      this.complain(`the broker took on ${number} for ${topic}, which nobody published`)
      return undefined
    }
    publication.accepted++
    const { kind, client, qos, sent, accepted } = publication
    if (publication.topic !== topic) this.complain(`${number} arrived under ${topic}`)
    if (kind === 'will') this.wills.published(publication, this.#now(), this.#isEnding)
    if (kind !== 'message') return publication
    if (accepted > (qos === 1 ? sent : 1)) this.complain(`${number} was taken on ${accepted} times`)
    const key = `${client} ${qos}`
    const late = accepted === 1 && number < (this.#lastAccepted.get(key) ?? 0)
    if (late && !this.#refused.has(number)) this.complain(`${number} was taken on out of order`)
    this.#lastAccepted.set(key, Math.max(number, this.#lastAccepted.get(key) ?? 0))
    return publication
  }

  /** Whether a session is over because its client begins another. */
  readonly #isEnding = (session: SessionModel): boolean =>
    !session.alive(this.#now()) ||
    session.doubtful ||
    (this.#connecting?.clean === true && this.#sessions.get(this.#connecting.clientId) === session)

  #greeted(link: SimLink, connect: IConnectPacket): void {
    const talk = talkOf(link, connect, this.publications, this.#now())
    this.#talks.set(link, talk)
    this.#connecting = talk
  }

  #welcomed(talk: Talk, present: boolean, reasonCode: number): void {
    this.#connecting = undefined
    if (reasonCode !== 0) {
      this.complain(`${talk.clientId} was not let in: ${reasonCode}`)
      return
    }
    const before = this.#sessions.get(talk.clientId)
    if (before?.link) this.complain(`${talk.clientId} is connected twice`)
    const kept = !talk.clean && before?.alive(this.#now()) === true
    if (present !== kept && !(kept && before?.doubtful))
      this.complain(`${talk.clientId} was told ${present} of its session`)
    const session = before && present ? before : this.#begin(talk.clientId)
    if (before && session !== before) before.ended = true
    this.wills.returned(session, this.#now())
    session.expiry = Math.min(talk.expiry, LIMIT.sessionExpirySeconds)
    session.link = talk.link
    session.doubtful = this.#tight
    talk.session = session
  }

  #begin(clientId: string): SessionModel {
    const session = new SessionModel(clientId)
    this.#sessions.set(clientId, session)
    this.#all.push(session)
    return session
  }

  #dismissed(talk: Talk, packet: IDisconnectPacket): void {
    talk.dismissed = packet
    const { reasonCode = 0, properties } = packet
    const early = this.#now() < talk.lastSeen + talk.patience
    if (reasonCode === 0x8d && (talk.patience === 0 || early)) this.complain(`${talk.clientId} was not silent`)
    const asked = reasonCode === 0x82 && talk.goodbye !== undefined
    if ([0x8b, 0x8d, 0x8e].includes(reasonCode) || asked || (this.#tight && reasonCode === 0x97)) return
    this.complain(`${talk.clientId} was dismissed: ${reasonCode} ${properties?.reasonString}`)
  }

  #finished({ session, unacknowledged }: Talk, packetId: number, qos: Qos): void {
    const flight = session?.inFlight.get(packetId)
    unacknowledged.delete(packetId)
    if (flight === undefined || flight.owed.qos !== qos || (qos === 2 && !flight.released)) return
    session?.inFlight.delete(packetId)
  }

  #subscribed({ session, requests }: Talk, packetId: number): void {
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

  #replay(session: SessionModel, filter: string, { qos, id }: Subscribed): void {
    this.#batch++
    for (const [topic, { publication, expiresAt }] of this.#retained) {
      if (!matchesByTheRules(filter, topic) || (expiresAt !== undefined && expiresAt <= this.#now())) continue
      const lower = Math.min(qos, publication.qos) === 0 ? 0 : Math.min(qos, publication.qos) === 1 ? 1 : 2
      session.owe({
        publication,
        qos: lower,
        retain: true,
        ids: id === undefined ? [] : [id],
        expiresAt,
        batch: this.#batch,
      })
    }
  }

  #unsubscribed({ session, requests }: Talk, packetId: number): void {
    const packet = requests.get(packetId)
    if (packet?.cmd !== 'unsubscribe' || session === undefined) return
    for (const filter of packet.unsubscriptions) {
      session.subscriptions.delete(filter)
      session.shared.delete(filter)
      this.#shared.unsubscribed(session, filter)
    }
  }

  #matches(session: SessionModel, topic: string): readonly Subscribed[] {
    return [...session.subscriptions].filter(([filter]) => matchesByTheRules(filter, topic)).map(([, of]) => of)
  }

  #oweTo(session: SessionModel, publication: Publication, expiresAt: number | undefined): void {
    const local = publication.kind !== 'answer' && publication.client === session.clientId
    const matches = this.#matches(session, publication.topic).filter(({ noLocal }) => !(noLocal && local))
    if (matches.length === 0) return
    const best = Math.min(publication.qos, Math.max(...matches.map(({ qos }) => qos)))
    session.owe({
      publication,
      qos: best === 0 ? 0 : best === 1 ? 1 : 2,
      retain: publication.retain && matches.some(({ retainAsPublished }) => retainAsPublished),
      ids: matches.flatMap(({ id }) => id ?? []),
      expiresAt,
      batch: this.#batch,
    })
  }

  #published(talk: Talk, packet: IPublishPacket): void {
    const { session, link, unacknowledged, receiveMaximum } = talk
    const topic = topicOf(talk, packet, this.complain)
    if (session === undefined) {
      this.complain(`${talk.clientId} got a message before it was let in`)
      return
    }
    const packetId = packet.messageId ?? 0
    const again = packet.qos > 0 && packet.dup && session.inFlight.has(packetId)
    if (again) this.#repeated(talk, session, packet)
    else this.#first(talk, session, packet, topic)
    if (packet.qos === 0) return
    unacknowledged.add(packetId)
    if (unacknowledged.size > receiveMaximum) this.complain(`${talk.clientId} got more than its receive maximum`)
    const flight = session.inFlight.get(packetId)
    if (flight) flight.link = link
  }

  #repeated(talk: Talk, session: SessionModel, packet: IPublishPacket): void {
    const flight = session.inFlight.get(packet.messageId ?? 0)
    const number = numberOf(packet)
    if (flight === undefined) return
    if (number !== undefined && number !== flight.owed.publication.number)
      this.complain(`${number} was repeated with the packet id of ${flight.owed.publication.number}`)
    if (flight.released) this.complain(`${number} was repeated although PUBREC had come`)
    if (flight.link === talk.link) this.complain(`${number} was repeated on the same connection`)
    if (flight.order < talk.lastAgain) this.complain(`${number} was repeated out of order`)
    talk.lastAgain = flight.order
    this.#giveUp(talk, session, flight.order)
  }

  #first(talk: Talk, session: SessionModel, packet: IPublishPacket, topic: string): void {
    const { clientId, link } = talk
    const skips = (owed: Owed): boolean => this.#skips(talk, owed)
    if (packet.qos > 0) this.#giveUp(talk, session)
    if (packet.qos > 0 && session.inFlight.has(packet.messageId ?? 0))
      this.complain(`packet id ${packet.messageId} of ${clientId} is in use twice`)
    if (packet.dup && !this.#tight) this.complain(`${clientId} got something as repeated that it did not get before`)
    if (topic.startsWith('s/')) {
      this.#firstShared(talk, session, packet)
      return
    }
    const owed =
      session.first(packet, link, skips, this.#isOptional, this.#now()) ??
      this.#replayedLate(talk, session, packet, topic)
    if (owed !== undefined) this.#compare(clientId, owed, packet, topic)
    else if (!this.#hasBegun(talk, session, packet))
      this.complain(`${clientId} got ${numberOf(packet)} QoS ${packet.qos}, which is not its turn`)
  }

  /**
   * With tight bounds it may have been given its packet id on a connection that ended before it was written, and have expired
   * since: what has begun goes on (MQTT 5.0, section 3.3.2.3.3).
   */
  #hasBegun({ link }: Talk, session: SessionModel, packet: IPublishPacket): boolean {
    const { qos, dup, retain, messageId = 0 } = packet
    const publication = this.publications.get(numberOf(packet) ?? -1)
    if (!this.#tight || !dup || publication?.expiry === undefined) return false
    count(session.promised, keyOf(publication.number, qos))
    session.fly(messageId, { publication, qos, retain, ids: [], expiresAt: this.#now(), batch: ++this.#batch }, link)
    return true
  }

  /** With tight bounds retained messages are sent once there is room, as they are by then. */
  #replayedLate({ link }: Talk, session: SessionModel, packet: IPublishPacket, topic: string): Owed | undefined {
    const kept = this.#retained.get(topic)
    if (!this.#tight || !packet.retain || kept === undefined) return undefined
    if (kept.publication.number !== numberOf(packet)) return undefined
    const { qos } = packet
    const gotId = [packet.properties?.subscriptionIdentifier ?? []].flat()[0]
    const asked = this.#matches(session, topic).some(
      subscribed => Math.min(subscribed.qos, kept.publication.qos) === qos && subscribed.id === gotId,
    )
    if (!asked) return undefined
    const ids = gotId === undefined ? [] : [gotId]
    const owed = { ...kept, qos, retain: true, ids, batch: ++this.#batch }
    count(session.promised, keyOf(kept.publication.number, qos))
    if (qos > 0) session.fly(packet.messageId ?? 0, owed, link)
    return owed
  }

  /** What was in flight on an earlier connection, before a certain one, and is not any more. */
  #giveUp(talk: Talk, session: SessionModel, before = Number.POSITIVE_INFINITY): void {
    for (const [packetId, flight] of session.inFlight) {
      if (flight.released || flight.link === talk.link || flight.order >= before) continue
      if (this.#mayBeGivenUp(flight) || (flight.owed.qos === 1 && this.#skips(talk, flight.owed)))
        session.excuse(flight)
      else this.complain(`${talk.clientId} was not sent ${flight.owed.publication.number} again`)
      session.inFlight.delete(packetId)
    }
  }

  #firstShared(talk: Talk, session: SessionModel, packet: IPublishPacket): void {
    const { clientId, link } = talk
    // It waited in one line with all others, and what was before it and could not be sent is given up.
    if (packet.qos > 0) for (const owed of session.owed) owed.perhaps ||= this.#skips(talk, owed)
    const post = this.#shared.sent(session, numberOf(packet) ?? 0, packet, this.#isEnding)
    if (post === undefined) {
      if (numberOf(packet) !== undefined) this.complain(`${clientId} got ${numberOf(packet)}, which is not shared`)
      return
    }
    const { publication, expiresAt } = post
    const owed = { publication, qos: packet.qos, retain: false, ids: [], expiresAt, batch: 0 }
    if (packet.qos > 0) session.fly(packet.messageId ?? 0, owed, link)
  }

  #compare(clientId: string, owed: Owed, packet: IPublishPacket, topic: string): void {
    const { number, topic: published } = owed.publication
    const wrong = differences(owed, packet, this.#now())
    for (const what of topic === published ? wrong : ['topic', ...wrong])
      this.complain(`${clientId} got ${number} with a wrong ${what}`)
  }

  /** PUBREL without PUBREC: the client cannot be sent the message again. */
  #released({ clientId, small, session, link }: Talk, packetId: number): void {
    const flight = session?.inFlight.get(packetId)
    if (flight === undefined || flight.released) return
    flight.released = true
    if (small && flight.owed.publication.what === 'large' && flight.link !== link) session?.excuse(flight)
    else this.complain(`${clientId} got PUBREL ${packetId} before it said PUBREC`)
  }

  #skips({ small }: Talk, owed: Owed): boolean {
    return this.#isLate(owed) || (small && owed.publication.what === 'large')
  }

  /** Where bounds are reached, retained messages and those with QoS 0 may be left out. */
  readonly #isOptional = ({ retain, qos, perhaps = false }: Owed): boolean =>
    perhaps || (this.#tight && (retain || qos === 0))

  /** With tight bounds a connection may end in the turn in which it was too small for something. */
  #mayBeGivenUp({ owed }: Flight): boolean {
    return owed.qos === 1 && (this.#isLate(owed) || (this.#tight && owed.publication.what === 'large'))
  }

  #isLate({ expiresAt }: Owed): boolean {
    return expiresAt !== undefined && expiresAt <= this.#now()
  }

  #checkTalk(talk: Talk): void {
    const { session, clientId, receiveMaximum, unacknowledged, patience, lastSeen } = talk
    if (session === undefined) return
    for (const owed of session.passing) {
      if (!this.#skips(talk, owed) && !this.#isOptional(owed))
        this.complain(`${clientId} did not get ${owed.publication.number} at once`)
      count(session.promised, keyOf(owed.publication.number, 0), -1)
    }
    session.passing = []
    // What the client may get has been sent, or given up.
    if (unacknowledged.size < receiveMaximum) {
      const left = session.settle(owed => this.#skips(talk, owed) || this.#isOptional(owed))
      if (left.length > 0) this.complain(`${clientId} waits for what it may get`)
      this.#giveUp(talk, session)
    }
    // What a client said that takes nothing is not read, and it is given another time.
    if (talk.link.unsentBytes > LIMIT.readPauseBytes) talk.excused = this.#now()
    else if (patience > 0 && this.#now() > Math.max(lastSeen, talk.excused) + patience)
      this.complain(`${clientId} is silent for too long`)
  }
}
