import type { IPublishPacket } from 'mqtt-packet'
import { matchesByTheRules } from '../../../support/reference-filter.js'
import type { Publication } from './publication.js'
import type { ReportViolation, SessionModel } from './session-model.js'

export interface SharedMessage {
  readonly publication: Publication
  /** The expiry of the first transmission, in milliseconds. */
  readonly expiresAt: number | undefined
  /** The possible receivers per group. */
  readonly groups: { readonly filter: string; readonly candidates: Set<SessionModel> }[]
  readonly sentTo: { readonly session: SessionModel; readonly qos: number }[]
  deliveryCount: number
}

type Judgement = (session: SessionModel) => boolean

export const innerFilter = (filter: string): string => filter.split('/').slice(2).join('/')

/** The messages of shared subscriptions. The broker delivers each message to one member of each group. */
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
      sentTo: [],
      deliveryCount: 0,
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
    // The broker may have chosen the member before it unsubscribed.
    if (!session.hasShared)
      this.#reportViolation(`${number} went to ${session.clientId}, which has no shared subscription`)
    message.sentTo.push({ session, qos })
    // Unacknowledged messages of an ended session pass to another member, except QoS 2 messages, which may have
    // arrived.
    const reassignable = message.sentTo.filter(({ session, qos }) => isOver(session) && qos === 1).length
    if (message.sentTo.length > message.groups.length + reassignable)
      this.#reportViolation(`${number} was sent to too many members`)
    return message
  }

  onDelivered(number: number): void {
    const message = this.#messages.get(number)
    if (message) message.deliveryCount++
  }

  checkEnd(): void {
    for (const { publication, groups, sentTo, deliveryCount } of this.#messages.values()) {
      const { number, qos, what, expiry } = publication
      if (qos === 0 || what !== 'small' || expiry !== undefined || deliveryCount > 0) continue
      const mayHaveArrived = qos === 2 && sentTo.some(({ session, qos }) => session.isEnded && qos === 2)
      const waiting = groups.some(({ candidates }) => [...candidates].some(({ isEnded }) => !isEnded))
      if (waiting && !mayHaveArrived) this.#reportViolation(`${number} was not sent to any member`)
    }
  }
}
