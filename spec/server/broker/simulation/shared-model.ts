import type { IPublishPacket } from 'mqtt-packet'
import { matchesByTheRules } from '../../../support/reference-filter.js'
import type { Publication } from './publication.js'
import type { Complain, SessionModel } from './session-model.js'

/** A message for groups of sessions. */
export interface Post {
  readonly publication: Publication
  /** When the first copy of it is too late, ms. */
  readonly expiresAt: number | undefined
  /** Who might get it, one for each group. */
  readonly groups: { readonly filter: string; readonly candidates: Set<SessionModel> }[]
  /** To whom it was sent for the first time. */
  readonly sent: { readonly session: SessionModel; readonly qos: number }[]
  arrived: number
}

type Judgement = (session: SessionModel) => boolean

/** The filter of a shared subscription without its group. */
export const innerFilter = (filter: string): string => filter.split('/').slice(2).join('/')

/** Messages of shared subscriptions: one of each group gets it, and nobody knows whom the broker chooses. */
export class SharedModel {
  readonly #posts = new Map<number, Post>()
  readonly #complain: Complain

  constructor(complain: Complain) {
    this.#complain = complain
  }

  published(publication: Publication, expiresAt: number | undefined, sessions: readonly SessionModel[]): void {
    const filters = new Set(sessions.flatMap(({ shared }) => [...shared.keys()]))
    const groups = [...filters]
      .filter(filter => matchesByTheRules(innerFilter(filter), publication.topic))
      .map(filter => ({ filter, candidates: new Set(sessions.filter(({ shared }) => shared.has(filter))) }))
    const post = this.#posts.get(publication.number) ?? { publication, expiresAt, groups: [], sent: [], arrived: 0 }
    post.groups.push(...groups)
    this.#posts.set(publication.number, post)
  }

  unsubscribed(session: SessionModel, filter: string): void {
    for (const { groups } of this.#posts.values())
      for (const group of groups) if (group.filter === filter) group.candidates.delete(session)
  }

  /** The broker sends a message to a session for the first time. */
  sent(session: SessionModel, number: number, { qos }: IPublishPacket, isOver: Judgement): Post | undefined {
    const post = this.#posts.get(number)
    if (post === undefined) return undefined
    // It may have been chosen before it unsubscribed.
    if (!session.hasShared) this.#complain(`${number} went to ${session.clientId}, who shares nothing`)
    post.sent.push({ session, qos })
    // What is not acknowledged when a session ends is for somebody else, unless it may have arrived with QoS 2.
    const lost = post.sent.filter(({ session, qos }) => isOver(session) && qos === 1).length
    if (post.sent.length > post.groups.length + lost) this.#complain(`${number} went to too many of those who share it`)
    return post
  }

  arrived(number: number): void {
    const post = this.#posts.get(number)
    if (post) post.arrived++
  }

  /** At the end, when everybody was there and took what there was. */
  settled(): void {
    for (const { publication, groups, sent, arrived } of this.#posts.values()) {
      const { number, qos, what, expiry } = publication
      if (qos === 0 || what !== 'small' || expiry !== undefined || arrived > 0) continue
      const given = qos === 2 && sent.some(({ session, qos }) => session.ended && qos === 2)
      const waiting = groups.some(({ candidates }) => [...candidates].some(({ ended }) => !ended))
      if (waiting && !given) this.#complain(`${number} reached nobody of those who share it`)
    }
  }
}
