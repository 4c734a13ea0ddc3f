import type { IPublishPacket } from 'mqtt-packet'
import { count, numberOf, type Publication } from './publication.js'
import type { SimLink } from './sim-link.js'

export interface Subscribed {
  readonly qos: 0 | 1 | 2
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly id: number | undefined
}

/** A message that the broker should send to a session. */
export interface Expected {
  readonly publication: Publication
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  readonly ids: readonly number[]
  /** In milliseconds. */
  readonly expiresAt: number | undefined
  /** Messages of one batch may arrive in any order. */
  readonly batch: number
  /**
   * Whether the broker may have discarded this message, because it was unsendable when another message of its batch was
   * sent.
   */
  isOptional?: boolean
}

export interface InFlight {
  readonly expected: Expected
  readonly order: number
  /** Whether PUBREC or PUBREL has been sent. */
  isReleased: boolean
  link: SimLink
}

/** Returns the key of a message, which may be expected several times with different QoS. */
export const keyOf = (number: number, qos: number): number => 4 * number + qos

type Predicate = (expected: Expected) => boolean

const sorted = (ids: readonly number[]): string => [...ids].sort().join()

/** Returns the fields that differ from the expectation. @param now - the current time in milliseconds */
export function differences({ qos, retain, ids, expiresAt }: Expected, packet: IPublishPacket, now: number): string[] {
  const wrong: string[] = []
  if (packet.qos !== qos) wrong.push('QoS')
  if (packet.retain !== retain) wrong.push('retain flag')
  if (packet.properties === undefined) return wrong
  if (sorted([packet.properties.subscriptionIdentifier ?? []].flat()) !== sorted(ids))
    wrong.push('subscription identifier')
  const left = expiresAt === undefined ? undefined : Math.ceil((expiresAt - now) / 1000)
  if (packet.properties.messageExpiryInterval !== left) wrong.push('expiry')
  return wrong
}

export type ReportViolation = (what: string) => void

/** The expected state of a session according to the specification. */
export class SessionModel {
  readonly clientId: string
  readonly subscriptions = new Map<string, Subscribed>()
  /** The shared subscriptions. `hasShared` reports whether the session ever had one. */
  readonly shared = new Map<string, Subscribed>()
  hasShared = false
  /** The subscriptions that requested retained messages, even if they have been replaced, by filter. */
  replays: (readonly [filter: string, subscribed: Subscribed])[] = []
  readonly inFlight = new Map<number, InFlight>()
  /** The QoS 1 and 2 messages in order. QoS 0 messages are expected immediately. */
  expected: Expected[] = []
  immediate: Expected[] = []
  link: SimLink | undefined
  /** In seconds. */
  expiry = 0
  /** In milliseconds. */
  endsAt = 0
  isEnded = false
  /** Whether the broker may have ended the session at a limit. */
  mayHaveEnded = false
  /** How often each message was expected and received, by {@link keyOf}. */
  readonly expectedCounts = new Map<number, number>()
  readonly receivedCounts = new Map<number, number>()
  #order = 0

  constructor(clientId: string) {
    this.clientId = clientId
  }

  isAlive(now: number): boolean {
    return !this.isEnded && (this.link !== undefined || this.endsAt > now)
  }

  expect(expected: Expected): void {
    const { publication, qos } = expected
    if (qos > 0) this.expected.push(expected)
    else if (this.link) this.immediate.push(expected)
    else return
    count(this.expectedCounts, keyOf(publication.number, qos))
  }

  /** @param optional - whether the message may be omitted */
  takeExpected(
    packet: IPublishPacket,
    link: SimLink,
    isUnsendable: Predicate,
    optional: Predicate,
    now: number,
  ): Expected | undefined {
    const list = (packet.qos === 0 ? this.immediate : this.expected).filter(expected => !isUnsendable(expected))
    const number = numberOf(packet)
    const head = list.find(expected => !optional(expected))
    const candidates = list
      .filter((expected, i) => head === undefined || expected.batch === head.batch || i < list.indexOf(head))
      .filter(({ publication: { what, number: own } }) => (number === undefined ? what === 'empty' : own === number))
    // The message may be expected several times, and the broker may have omitted an earlier copy. The packet decides
    // which copy matches.
    const found = candidates.find(expected => differences(expected, packet, now).length === 0) ?? candidates[0]
    if (found === undefined) return undefined
    const before = [...this.expected, ...this.immediate].filter(({ qos }) => qos > 0 === packet.qos > 0)
    this.#skip(before.slice(0, before.indexOf(found)).filter(({ batch }) => batch !== found.batch))
    for (const expected of before)
      if (expected.batch === found.batch && isUnsendable(expected)) expected.isOptional = true
    this.#remove(found)
    if (packet.qos > 0) this.recordInFlight(packet.messageId ?? 0, found, link)
    return found
  }

  recordInFlight(packetId: number, expected: Expected, link: SimLink): void {
    this.inFlight.set(packetId, { expected, order: ++this.#order, isReleased: false, link })
  }

  /** Removes messages that are expired or too large, and returns the remaining messages. */
  discardUnsendable(isUnsendable: Predicate): readonly Expected[] {
    this.#skip([...this.expected, ...this.immediate].filter(isUnsendable))
    return [...this.expected, ...this.immediate]
  }

  /** Stops expecting a message that may or may not have arrived. */
  waive({ expected }: InFlight): void {
    const key = keyOf(expected.publication.number, expected.qos)
    if ((this.expectedCounts.get(key) ?? 0) > (this.receivedCounts.get(key) ?? 0)) count(this.expectedCounts, key, -1)
  }

  #skip(list: readonly Expected[]): void {
    for (const expected of list) {
      this.#remove(expected)
      count(this.expectedCounts, keyOf(expected.publication.number, expected.qos), -1)
    }
  }

  #remove(expected: Expected): void {
    this.expected = this.expected.filter(other => other !== expected)
    this.immediate = this.immediate.filter(other => other !== expected)
  }
}
