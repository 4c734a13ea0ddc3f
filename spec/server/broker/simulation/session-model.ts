import type { IPublishPacket } from 'mqtt-packet'
import { count, numberOf, type Publication } from './publication.js'
import type { SimLink } from './sim-link.js'

/** A subscription, as it was asked for. */
export interface Subscribed {
  readonly qos: 0 | 1 | 2
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly id: number | undefined
}

/** A message that a session is owed. */
export interface Owed {
  readonly publication: Publication
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  readonly ids: readonly number[]
  /** ms */
  readonly expiresAt: number | undefined
  /** Those of one batch may come in any order. */
  readonly batch: number
  /** Another one of its batch was sent when this one could not be, so it may have been given up before it. */
  perhaps?: boolean
}

/** A message with a packet id. */
export interface Flight {
  readonly owed: Owed
  readonly order: number
  /** PUBREC or PUBREL has been said. */
  released: boolean
  /** Over which it was sent last. */
  link: SimLink
}

/** A message may be owed more than once, and then with another QoS. */
export const keyOf = (number: number, qos: number): number => 4 * number + qos

type Choice = (owed: Owed) => boolean

const sorted = (ids: readonly number[]): string => [...ids].sort().join()

/** What of a message is not as it is owed, `now` in ms. */
export function differences({ qos, retain, ids, expiresAt }: Owed, packet: IPublishPacket, now: number): string[] {
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

/** What is to be said against what the broker does. */
export type Complain = (what: string) => void

/** What a session should be, by the rules alone. */
export class SessionModel {
  readonly clientId: string
  readonly subscriptions = new Map<string, Subscribed>()
  /** Those that are shared, and whether there has ever been one. */
  readonly shared = new Map<string, Subscribed>()
  hasShared = false
  readonly inFlight = new Map<number, Flight>()
  /** With QoS 1 or 2, in order; what is owed with QoS 0 is owed at once. */
  owed: Owed[] = []
  passing: Owed[] = []
  /** Whose connection there is. */
  link: SimLink | undefined
  /** s */
  expiry = 0
  /** ms */
  endsAt = 0
  ended = false
  /** A bound may have been reached, at which the broker may end it. */
  doubtful = false
  /** By {@link keyOf}: how often it was owed, and how often its client got it. */
  readonly promised = new Map<number, number>()
  readonly got = new Map<number, number>()
  #order = 0

  constructor(clientId: string) {
    this.clientId = clientId
  }

  alive(now: number): boolean {
    return !this.ended && (this.link !== undefined || this.endsAt > now)
  }

  owe(owed: Owed): void {
    const { publication, qos } = owed
    if (qos > 0) this.owed.push(owed)
    else if (this.link) this.passing.push(owed)
    else return
    count(this.promised, keyOf(publication.number, qos))
  }

  /**
   * The broker sends something for the first time; returns what it should be.
   *
   * @param skips - what must not be sent any more
   * @param optional - what need not be sent
   * @param now - ms
   */
  first(packet: IPublishPacket, link: SimLink, skips: Choice, optional: Choice, now: number): Owed | undefined {
    const list = (packet.qos === 0 ? this.passing : this.owed).filter(owed => !skips(owed))
    const number = numberOf(packet)
    const head = list.find(owed => !optional(owed))
    const candidates = list
      .filter((owed, i) => head === undefined || owed.batch === head.batch || i < list.indexOf(head))
      .filter(({ publication: { what, number: own } }) => (number === undefined ? what === 'empty' : own === number))
    // Owed for two subscriptions, or taken on twice, and the first may have been left out: the packet says which one it is.
    const found = candidates.find(owed => differences(owed, packet, now).length === 0) ?? candidates[0]
    if (found === undefined) return undefined
    const before = [...this.owed, ...this.passing].filter(({ qos }) => qos > 0 === packet.qos > 0)
    this.#skip(before.slice(0, before.indexOf(found)).filter(({ batch }) => batch !== found.batch))
    for (const owed of before) if (owed.batch === found.batch && skips(owed)) owed.perhaps = true
    this.#remove(found)
    if (packet.qos > 0) this.fly(packet.messageId ?? 0, found, link)
    return found
  }

  fly(packetId: number, owed: Owed, link: SimLink): void {
    this.inFlight.set(packetId, { owed, order: ++this.#order, released: false, link })
  }

  /** What is too late or too large is not owed any more; returns what is left. */
  settle(skips: Choice): readonly Owed[] {
    this.#skip([...this.owed, ...this.passing].filter(skips))
    return [...this.owed, ...this.passing]
  }

  /** Nothing is owed for a flight any more, although it may not have arrived; if it has, that was as it should be. */
  excuse({ owed }: Flight): void {
    const key = keyOf(owed.publication.number, owed.qos)
    if ((this.promised.get(key) ?? 0) > (this.got.get(key) ?? 0)) count(this.promised, key, -1)
  }

  #skip(list: readonly Owed[]): void {
    for (const owed of list) {
      this.#remove(owed)
      count(this.promised, keyOf(owed.publication.number, owed.qos), -1)
    }
  }

  #remove(owed: Owed): void {
    this.owed = this.owed.filter(other => other !== owed)
    this.passing = this.passing.filter(other => other !== owed)
  }
}
