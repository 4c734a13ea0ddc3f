import type { Done } from '../../client/session/session.js'
import type { Content, Publish } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import type { Glob } from '../../core/protocol/glob.js'
import { PROPERTY, PROTOCOL_VERSION, STATUS } from '../../core/protocol/properties.js'
import { displayText, fromHex, randomBytes, toBinaryString } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { Policy } from '../access/policy.js'
import { Rights } from '../access/rights.js'
import type { KeyRights } from '../engine/engine.js'
import type { Watchers } from '../engine/watchers.js'
import type { ConnectedClient } from '../host/store-server.js'

/** MQTT 5.0, section 3.4.2.1: nobody gets the message. */
const NO_MATCHING_SUBSCRIBERS = 16
/** ms: a broker may say that a client is gone when it is back already, and has registered. */
const SURELY_GONE = 5_000
/** So many are known before it is looked whether they are needed. */
const MANY = 10_000
/** ms after which a client that asks nothing and watches nothing counts as gone. */
const LATELY = 60_000

/** A client somewhere behind the broker, which is never seen to come or go. */
export class RemoteClient implements Client {
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
  readonly #notify: (client: RemoteClient, message: Publish) => void

  constructor(clientId: string, since: number, notify: (client: RemoteClient, message: Publish) => void) {
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
export class RemoteClients {
  readonly #push: (client: RemoteClient, message: Publish, done: Done) => void
  readonly #byId = new Map<string, RemoteClient>()
  readonly #watchers: Watchers<Client>
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>
  #many = MANY

  /** @param watchers - where registrations are @param push - publishes */
  constructor(
    watchers: Watchers<Client>,
    push: (client: RemoteClient, message: Publish, done: Done) => void,
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
    for (const client of this.#byId.values()) {
      const watches = this.#watchers.countOf(client)
      const { clientId, since, heardAt } = client
      if (watches > 0 || heardAt > earliest) present.push({ clientId, since, watches })
    }
    return present
  }

  /** A client that was heard; `undefined` for any other. */
  find(clientId: string): RemoteClient | undefined {
    return this.#byId.get(clientId)
  }

  /** The client that was heard. */
  heard(clientId: string): RemoteClient {
    const client = this.#of(clientId)
    client.heard++
    client.heardAt = this.#clock.monotonic()
    return client
  }

  /** The broker says that a client is gone: its registrations end, if it has not just been heard. */
  gone(clientId: string): void {
    const client = this.#byId.get(clientId)
    if (client === undefined || this.#clock.monotonic() - client.heardAt < SURELY_GONE) return
    this.#watchers.removeConnection(client)
    client.heardAt = Number.NEGATIVE_INFINITY
  }

  /**
   * What was published for a client on its response topic was acknowledged. Anybody can ask in any name: a client that was
   * never found watches nothing, and one that was found there and is not any more has left.
   *
   * @param heard - how often it had been heard when that was published: heard since, it may be there by now
   */
  answered(client: RemoteClient, heard: number, topic: string, refusal: Parameters<Done>[0]): void {
    if (refusal === undefined) {
      client.responseTopic = topic
      client.foundAt = this.#clock.monotonic()
      return
    }
    const isUnfound = client.responseTopic === undefined || client.responseTopic === topic
    if (refusal.status === NO_MATCHING_SUBSCRIBERS && isUnfound && client.heard === heard)
      this.#watchers.removeConnection(client)
  }

  /** Whether a client was neither heard nor found for so long, ms. */
  isSilent({ heardAt, foundAt }: RemoteClient, ms: number): boolean {
    return this.#clock.monotonic() - Math.max(heardAt, foundAt) >= ms
  }

  /** Clients that watch something. */
  *watching(): Generator<RemoteClient, void> {
    for (const client of this.#byId.values()) if (this.#watchers.countOf(client) > 0) yield client
  }

  #of(clientId: string): RemoteClient {
    const known = this.#byId.get(clientId)
    if (known !== undefined) return known
    if (this.#byId.size >= this.#many) this.#forgetIdle()
    const client = new RemoteClient(clientId, this.#clock.now(), (to, message) => this.#notify(to, message))
    this.#byId.set(clientId, client)
    return client
  }

  #forgetIdle(): void {
    for (const [id, client] of this.#byId) if (this.#watchers.countOf(client) === 0) this.#byId.delete(id)
    this.#many = Math.max(MANY, 2 * this.#byId.size)
  }

  /** A client that is not there any more has no subscription, and then its registrations for that key end. */
  #notify(client: RemoteClient, message: Publish): void {
    const { heard } = client
    this.#push(client, message, refusal => {
      // Heard since, it may have come back and registered.
      if (refusal?.status !== NO_MATCHING_SUBSCRIBERS || client.heard !== heard) return
      const key = fromHex(message.topic.slice(message.topic.lastIndexOf('/') + 1))
      if (key !== undefined) this.#watchers.removeMatching(client, toBinaryString(key))
    })
  }
}

/** What a policy lets clients do with keys, by their client ids alone: of users a broker says nothing. */
export class RemoteClientRights implements KeyRights<Client> {
  readonly #policy: Policy
  readonly #refused: (clientId: string, action: 'read' | 'write', key: string) => void
  readonly #known = new WeakMap<Client, Rights>()

  /** @param refused - is told what somebody may not do, with the key as text */
  constructor(policy: Policy, refused: (clientId: string, action: 'read' | 'write', key: string) => void) {
    this.#policy = policy
    this.#refused = refused
  }

  mayRead(client: Client, key: Uint8Array): boolean {
    return this.#judge(client, 'read', key)
  }

  mayWrite(client: Client, key: Uint8Array): boolean {
    return this.#judge(client, 'write', key)
  }

  readable(client: Client): Glob {
    return this.#of(client).readable
  }

  #judge(client: Client, type: 'read' | 'write', key: Uint8Array): boolean {
    const allowed = this.#of(client).allows({ type, key })
    if (!allowed) this.#refused(client.clientId, type, displayText(key))
    return allowed
  }

  #of(client: Client): Rights {
    const known = this.#known.get(client)
    if (known !== undefined) return known
    const rights = new Rights(this.#policy, { clientId: client.clientId, username: undefined, attributes: {} })
    this.#known.set(client, rights)
    return rights
  }
}

/** How often some of the clients are looked at, ms. */
const INTERVAL_MS = 1_000
/** How many at a time. */
const MAX_AT_ONCE = 1_000
/** A client that was heard or found within so long is not asked for, ms. */
const SILENCE_MS = 60_000
/** A client that is away with its session gets nothing old, s. */
const EXPIRY_SECONDS = 1
const NOTHING = new Uint8Array(0)

/**
 * Ends the watches of clients that have left, when watches become scarce. A broker tells of nobody, but says when nobody
 * subscribes to what is published: so each client that was not heard for a minute gets a response to no request, which
 * clients ignore as one that is late.
 */
export class PresenceSweep {
  readonly #clients: RemoteClients
  readonly #isScarce: () => boolean
  readonly #publish: (message: Publish, done: Done) => void
  readonly #clock: Pick<Clock, 'schedule'>
  #rest: Iterator<RemoteClient> | undefined
  #cancel: () => void = () => undefined

  constructor(
    clients: RemoteClients,
    isScarce: () => boolean,
    publish: (message: Publish, done: Done) => void,
    clock: Pick<Clock, 'schedule'>,
  ) {
    this.#clients = clients
    this.#isScarce = isScarce
    this.#publish = publish
    this.#clock = clock
  }

  start(): void {
    this.#cancel()
    this.#cancel = this.#clock.schedule(INTERVAL_MS, () => {
      if (this.#isScarce()) this.#sweep()
      this.start()
    })
  }

  stop(): void {
    this.#cancel()
  }

  #sweep(): void {
    this.#rest ??= this.#clients.watching()
    for (let i = 0; i < MAX_AT_ONCE; i++) {
      const { value: client, done } = this.#rest.next()
      if (done) {
        this.#rest = undefined
        return
      }
      if (client.responseTopic !== undefined && this.#clients.isSilent(client, SILENCE_MS))
        this.#ask(client, client.responseTopic)
    }
  }

  #ask(client: RemoteClient, topic: string): void {
    const { heard } = client
    const message: Publish = {
      topic,
      payload: NOTHING,
      correlationData: randomBytes(16),
      messageExpiry: EXPIRY_SECONDS,
      userProperties: { [PROPERTY.status]: String(STATUS.unavailable), [PROPERTY.protocolVersion]: PROTOCOL_VERSION },
    }
    this.#publish(message, refusal => this.#clients.answered(client, heard, topic, refusal))
  }
}
