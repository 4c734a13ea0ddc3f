import type { IPublishPacket } from 'mqtt-packet'
import { matchesByTheRules } from '../../../support/reference-filter.js'
import type { Publication } from './publication.js'
import type { ReportViolation, SessionModel } from './session-model.js'

/** A message for shared subscriptions. */
export interface SharedMessage {
  readonly publication: Publication
  /** Expiry of its first transmission, ms. */
  readonly expiresAt: number | undefined
  /** Possible receivers, per group. */
  readonly groups: { readonly filter: string; readonly candidates: Set<SessionModel> }[]
  /** Sessions of its first transmissions. */
  readonly onSent: { readonly session: SessionModel; readonly qos: number }[]
  onDelivered: number
}

type Judgement = (session: SessionModel) => boolean

/** Returns the filter without `$share/{group}/`. */
export const innerFilter = (filter: string): string => filter.split('/').slice(2).join('/')

/** Messages of shared subscriptions: one member of each group receives each, chosen by the broker. */
export class SharedModel {
  readonly #messages = new Map<number, SharedMessage>()
  readonly #reportViolation: ReportViolation

  constructor(reportViolation: ReportViolation) {
    this.#reportViolation = reportViolation
  }

  onPublished(publication: Publication, expiresAt: number | undefined, sessions: readonly SessionModel[]): void {
    const filters = new Set(sessions.flatMap(({ shared }) => [...shared.keys()]))
    const groups = [...filters]
      .filter(filter => matchesByTheRules(innerFilter(filter), publication.topic))
      .map(filter => ({ filter, candidates: new Set(sessions.filter(({ shared }) => shared.has(filter))) }))
    const message = this.#messages.get(publication.number) ?? {
      publication,
      expiresAt,
      groups: [],
      onSent: [],
      onDelivered: 0,
    }
    message.groups.push(...groups)
    this.#messages.set(publication.number, message)
  }

  onUnsubscribed(session: SessionModel, filter: string): void {
    for (const { groups } of this.#messages.values())
      for (const group of groups) if (group.filter === filter) group.candidates.delete(session)
  }

  onSent(session: SessionModel, number: number, { qos }: IPublishPacket, isOver: Judgement): SharedMessage | undefined {
    const message = this.#messages.get(number)
    if (message === undefined) return undefined
    // The member may have been chosen before it unsubscribed.
    if (!session.hasShared)
      this.#reportViolation(`${number} went to ${session.clientId}, which has no shared subscription`)
    message.onSent.push({ session, qos })
    // Unacknowledged messages of an ended session pass to another member, except QoS 2 messages, which may have
    // arrived.
    const reassignable = message.onSent.filter(({ session, qos }) => isOver(session) && qos === 1).length
    if (message.onSent.length > message.groups.length + reassignable)
      this.#reportViolation(`${number} was sent to too many members`)
    return message
  }

  onDelivered(number: number): void {
    const message = this.#messages.get(number)
    if (message) message.onDelivered++
  }

  /** Called at the end, after all clients have received all messages. */
  checkEnd(): void {
    for (const { publication, groups, onSent: sent, onDelivered: arrived } of this.#messages.values()) {
      const { number, qos, what, expiry } = publication
      if (qos === 0 || what !== 'small' || expiry !== undefined || arrived > 0) continue
      const isDelivered = qos === 2 && sent.some(({ session, qos }) => session.isEnded && qos === 2)
      const waiting = groups.some(({ candidates }) => [...candidates].some(({ isEnded }) => !isEnded))
      if (waiting && !isDelivered) this.#reportViolation(`${number} was not sent to any member`)
    }
  }
}
