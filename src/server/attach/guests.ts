import type { Done } from '../../client/session/session.js'
import type { Client } from '../../core/mqtt5/peer.js'
import type { Content, Publish } from '../../core/mqtt5/publish.js'
import { fromHex, toBinaryString } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { Watchers } from '../engine/watchers.js'
import type { ConnectedClient } from '../host/running-store.js'

/** MQTT 5.0, section 3.4.2.1: nobody gets the message. */
const NO_MATCHING_SUBSCRIBERS = 16
/** ms: a broker may say that a client is gone when it is back already, and has registered. */
const SURELY_GONE = 5_000
/** So many are known before it is looked whether they are needed. */
const MANY = 10_000
/** ms after which a client that asks nothing and watches nothing counts as gone. */
const LATELY = 60_000

/** A client somewhere behind the broker, which is never seen to come or go. */
export class Guest implements Client {
  readonly clientId: string
  readonly open = true
  /** When it was heard first, ms since the Unix epoch. */
  readonly since: number
  /** How often it was heard, and when last, monotonic ms. */
  heard = 0
  heardAt = 0
  /** Where it was found to subscribe, last; `undefined` for one that was never found anywhere. */
  responseTopic: string | undefined
  /** When that was, monotonic ms. */
  foundAt = Number.NEGATIVE_INFINITY
  readonly #notify: (guest: Guest, message: Publish) => void

  constructor(clientId: string, since: number, notify: (guest: Guest, message: Publish) => void) {
    this.clientId = clientId
    this.since = since
    this.#notify = notify
  }

  /** Nobody here knows; the broker does. */
  subscribes(): boolean {
    return true
  }

  deliver(topic: string, content: Content): void {
    this.#notify(this, { topic, ...content })
  }
}

/** All clients that asked for something. */
export class Guests {
  readonly #push: (guest: Guest, message: Publish, done: Done) => void
  readonly #byId = new Map<string, Guest>()
  readonly #watchers: Watchers<Client>
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>
  #many = MANY

  /** @param watchers - where registrations are @param push - publishes */
  constructor(
    watchers: Watchers<Client>,
    push: (guest: Guest, message: Publish, done: Done) => void,
    clock: Pick<Clock, 'monotonic' | 'now'>,
  ) {
    this.#clock = clock
    this.#watchers = watchers
    this.#push = push
  }

  /** How many there are. */
  get size(): number {
    return this.#byId.size
  }

  /** Those that watch, or were heard in the last minute. */
  get present(): readonly ConnectedClient[] {
    const earliest = this.#clock.monotonic() - LATELY
    const present: ConnectedClient[] = []
    for (const guest of this.#byId.values()) {
      const watches = this.#watchers.countOf(guest)
      const { clientId, since, heardAt } = guest
      if (watches > 0 || heardAt > earliest) present.push({ clientId, since, watches })
    }
    return present
  }

  /** A client that was heard; `undefined` for any other. */
  find(clientId: string): Guest | undefined {
    return this.#byId.get(clientId)
  }

  /** The client that was heard. */
  heard(clientId: string): Guest {
    const guest = this.#of(clientId)
    guest.heard++
    guest.heardAt = this.#clock.monotonic()
    return guest
  }

  /** The broker says that a client is gone: its registrations end, if it has not just been heard. */
  gone(clientId: string): void {
    const guest = this.#byId.get(clientId)
    if (guest === undefined || this.#clock.monotonic() - guest.heardAt < SURELY_GONE) return
    this.#watchers.drop(guest)
    guest.heardAt = Number.NEGATIVE_INFINITY
  }

  /**
   * What was published for a client on its response topic was acknowledged. Anybody can ask in any name: a client that was
   * never found watches nothing, and one that was found there and is not any more has left.
   *
   * @param heard - how often it had been heard when that was published: heard since, it may be there by now
   */
  answered(guest: Guest, heard: number, topic: string, refusal: Parameters<Done>[0]): void {
    if (refusal === undefined) {
      guest.responseTopic = topic
      guest.foundAt = this.#clock.monotonic()
      return
    }
    const isUnfound = guest.responseTopic === undefined || guest.responseTopic === topic
    if (refusal.status === NO_MATCHING_SUBSCRIBERS && isUnfound && guest.heard === heard) this.#watchers.drop(guest)
  }

  /** Whether a client was neither heard nor found for so long, ms. */
  isSilent({ heardAt, foundAt }: Guest, ms: number): boolean {
    return this.#clock.monotonic() - Math.max(heardAt, foundAt) >= ms
  }

  /** Clients that watch something. */
  *watching(): Generator<Guest, void> {
    for (const guest of this.#byId.values()) if (this.#watchers.countOf(guest) > 0) yield guest
  }

  #of(clientId: string): Guest {
    const known = this.#byId.get(clientId)
    if (known !== undefined) return known
    if (this.#byId.size >= this.#many) this.#forgetIdle()
    const guest = new Guest(clientId, this.#clock.now(), (to, message) => this.#notify(to, message))
    this.#byId.set(clientId, guest)
    return guest
  }

  #forgetIdle(): void {
    for (const [id, guest] of this.#byId) if (this.#watchers.countOf(guest) === 0) this.#byId.delete(id)
    this.#many = Math.max(MANY, 2 * this.#byId.size)
  }

  /** A client that is not there any more has no subscription, and then its registrations for that key end. */
  #notify(guest: Guest, message: Publish): void {
    const { heard } = guest
    this.#push(guest, message, refusal => {
      // Heard since, it may have come back and registered.
      if (refusal?.status !== NO_MATCHING_SUBSCRIBERS || guest.heard !== heard) return
      const key = fromHex(message.topic.slice(message.topic.lastIndexOf('/') + 1))
      if (key !== undefined) this.#watchers.removeAllOf(guest, toBinaryString(key))
    })
  }
}
