import type { Done } from '../../client/session/session.js'
import type { Content, Publish } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import { noMatchingSubscribers } from '../../core/mqtt5/reason-codes.js'
import type { Glob } from '../../core/protocol/glob.js'
import { PROPERTY, PROTOCOL_VERSION, STATUS } from '../../core/protocol/properties.js'
import { displayText, fromHex, randomBytes, toBinaryString } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { Timer } from '../../core/util/timer.js'
import type { Policy } from '../access/policy.js'
import { Rights } from '../access/rights.js'
import type { KeyRights } from '../engine/engine.js'
import type { Watchers } from '../engine/watchers.js'
import type { ConnectedClient } from '../host/store-server.js'

/**
 * The time since a client's last request in which a disconnect message is ignored, because it may arrive after the
 * client has reconnected and registered.
 */
const DISCONNECT_GRACE_MS = 5_000
const MIN_CLEANUP_SIZE = 10_000
const RECENT_MS = 60_000

/** A client behind the broker, whose connections are invisible to the store. */
export class RemoteClient implements Client {
  readonly clientId: string
  readonly open = true
  /** The time of the first request, in ms since the Unix epoch. */
  readonly since: number
  requestCount = 0
  /** The time of the last request, in monotonic ms. */
  lastRequestAt = 0
  /** The response topic at which the client was last known to be subscribed. */
  responseTopic: string | undefined
  /** The time of the last delivery, in monotonic ms. */
  lastReachableAt = Number.NEGATIVE_INFINITY
  readonly #notify: (client: RemoteClient, message: Publish) => void

  constructor(clientId: string, since: number, notify: (client: RemoteClient, message: Publish) => void) {
    this.clientId = clientId
    this.since = since
    this.#notify = notify
  }

  /** Always returns true, because only the broker knows the client's subscriptions. */
  subscribes(): boolean {
    return true
  }

  deliver(topic: string, content: Content): void {
    this.#notify(this, { topic, ...content })
  }
}

export class RemoteClients {
  readonly #push: (client: RemoteClient, message: Publish, done: Done) => void
  readonly #byId = new Map<string, RemoteClient>()
  readonly #watchers: Watchers<Client>
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>
  #cleanupSize = MIN_CLEANUP_SIZE

  constructor(
    watchers: Watchers<Client>,
    push: (client: RemoteClient, message: Publish, done: Done) => void,
    clock: Pick<Clock, 'monotonic' | 'now'>,
  ) {
    this.#clock = clock
    this.#watchers = watchers
    this.#push = push
  }

  get size(): number {
    return this.#byId.size
  }

  get recentClients(): readonly ConnectedClient[] {
    const earliest = this.#clock.monotonic() - RECENT_MS
    const present: ConnectedClient[] = []
    for (const client of this.#byId.values()) {
      const watches = this.#watchers.countOf(client)
      const { clientId, since, lastRequestAt } = client
      if (watches > 0 || lastRequestAt > earliest) present.push({ clientId, since, watches })
    }
    return present
  }

  find(clientId: string): RemoteClient | undefined {
    return this.#byId.get(clientId)
  }

  recordRequest(clientId: string): RemoteClient {
    const client = this.#getOrCreate(clientId)
    client.requestCount++
    client.lastRequestAt = this.#clock.monotonic()
    return client
  }

  /** Ends the registrations of a disconnected client unless it sent a request in the last 5 s. */
  onDisconnected(clientId: string): void {
    const client = this.#byId.get(clientId)
    if (client === undefined || this.#clock.monotonic() - client.lastRequestAt < DISCONNECT_GRACE_MS) return
    this.#watchers.removeConnection(client)
    client.lastRequestAt = Number.NEGATIVE_INFINITY
  }

  /**
   * Handles the PUBACK of a message to a client's response topic. Any client can send requests in another client's
   * name, so a client that never subscribed to the topic gets no watches. A client that is no longer subscribed has
   * disconnected.
   *
   * @param requestCount - number of requests when the message was published; a client that has sent more since then may
   * have subscribed
   */
  onDelivered(client: RemoteClient, requestCount: number, topic: string, refusal: Parameters<Done>[0]): void {
    if (refusal === undefined) {
      client.responseTopic = topic
      client.lastReachableAt = this.#clock.monotonic()
      return
    }
    const isUnreachable = client.responseTopic === undefined || client.responseTopic === topic
    if (refusal.status === noMatchingSubscribers && isUnreachable && client.requestCount === requestCount)
      this.#watchers.removeConnection(client)
  }

  isSilent({ lastRequestAt, lastReachableAt }: RemoteClient, durationMs: number): boolean {
    return this.#clock.monotonic() - Math.max(lastRequestAt, lastReachableAt) >= durationMs
  }

  *watchingClients(): Generator<RemoteClient, void> {
    for (const client of this.#byId.values()) if (this.#watchers.countOf(client) > 0) yield client
  }

  #getOrCreate(clientId: string): RemoteClient {
    const known = this.#byId.get(clientId)
    if (known !== undefined) return known
    if (this.#byId.size >= this.#cleanupSize) this.#forgetIdle()
    const client = new RemoteClient(clientId, this.#clock.now(), (to, message) => this.#notify(to, message))
    this.#byId.set(clientId, client)
    return client
  }

  #forgetIdle(): void {
    for (const [id, client] of this.#byId) if (this.#watchers.countOf(client) === 0) this.#byId.delete(id)
    this.#cleanupSize = Math.max(MIN_CLEANUP_SIZE, 2 * this.#byId.size)
  }

  /** Sends a notification. If it has no receiver, the client's registrations for that key end. */
  #notify(client: RemoteClient, message: Publish): void {
    const { requestCount } = client
    this.#push(client, message, refusal => {
      if (refusal?.status !== noMatchingSubscribers || client.requestCount !== requestCount) return
      const key = notifiedKey(message.topic)
      if (key !== undefined) this.#watchers.removeMatching(client, toBinaryString(key))
    })
  }
}

/** Returns the key of a notification topic. */
export const notifiedKey = (topic: string): Uint8Array | undefined => fromHex(topic.slice(topic.lastIndexOf('/') + 1))

/** Grants rights to keys by client id, because brokers do not report user names. */
export class RemoteClientRights implements KeyRights<Client> {
  #policy: Policy
  readonly #onDenied: (clientId: string, action: 'read' | 'write', key: string) => void
  #rightsByClient = new WeakMap<Client, Rights>()

  constructor(policy: Policy, onDenied: (clientId: string, action: 'read' | 'write', key: string) => void) {
    this.#policy = policy
    this.#onDenied = onDenied
  }

  mayRead(client: Client, key: Uint8Array): boolean {
    return this.#check(client, 'read', key)
  }

  mayWrite(client: Client, key: Uint8Array): boolean {
    return this.#check(client, 'write', key)
  }

  readable(client: Client): Glob {
    return this.#rightsOf(client).readable
  }

  /** Replaces the policy. Returns a function that checks whether a client may read the same key patterns as before. */
  setPolicy(policy: Policy): (client: Client) => boolean {
    const previous = this.#policy
    this.#policy = policy
    this.#rightsByClient = new WeakMap()
    return client => this.#rightsOf(client).canReadSamePatterns(rightsBy(previous, client))
  }

  /** Returns the same as {@link mayRead} without reporting a denial. */
  canRead(client: Client, key: Uint8Array): boolean {
    return this.#rightsOf(client).allows({ type: 'read', key })
  }

  #check(client: Client, type: 'read' | 'write', key: Uint8Array): boolean {
    const allowed = this.#rightsOf(client).allows({ type, key })
    if (!allowed) this.#onDenied(client.clientId, type, displayText(key))
    return allowed
  }

  #rightsOf(client: Client): Rights {
    const known = this.#rightsByClient.get(client)
    if (known !== undefined) return known
    const rights = rightsBy(this.#policy, client)
    this.#rightsByClient.set(client, rights)
    return rights
  }
}

const rightsBy = (policy: Policy, { clientId }: Client): Rights =>
  new Rights(policy, { clientId, username: undefined, attributes: {} })

const SWEEP_INTERVAL_MS = 1_000
const MAX_PER_SWEEP = 1_000
/** The time for which a client is not probed after a request or a delivery. */
const SILENCE_MS = 60_000
/** The expiry of a probe, short so that an offline client with a session does not get the probe later. */
const PROBE_EXPIRY_SECONDS = 1
const NO_BYTES = new Uint8Array(0)

/**
 * Ends the watches of disconnected clients when watches become scarce. Brokers do not report disconnects, but their
 * PUBACK reports when a message has no receiver. So each client that was silent for a minute gets a response without a
 * request, which clients ignore as they ignore a late response.
 */
export class PresenceSweep {
  readonly #clients: RemoteClients
  readonly #isScarce: () => boolean
  readonly #publish: (message: Publish, done: Done) => void
  readonly #timer: Timer
  #remaining: Iterator<RemoteClient> | undefined

  constructor(
    clients: RemoteClients,
    isScarce: () => boolean,
    publish: (message: Publish, done: Done) => void,
    clock: Pick<Clock, 'schedule'>,
  ) {
    this.#clients = clients
    this.#isScarce = isScarce
    this.#publish = publish
    this.#timer = new Timer(clock)
  }

  start(): void {
    this.#timer.set(SWEEP_INTERVAL_MS, () => {
      if (this.#isScarce()) this.#sweep()
      this.start()
    })
  }

  stop(): void {
    this.#timer.cancel()
  }

  #sweep(): void {
    this.#remaining ??= this.#clients.watchingClients()
    for (let i = 0; i < MAX_PER_SWEEP; i++) {
      const { value: client, done } = this.#remaining.next()
      if (done) {
        this.#remaining = undefined
        return
      }
      if (client.responseTopic !== undefined && this.#clients.isSilent(client, SILENCE_MS))
        this.#probe(client, client.responseTopic)
    }
  }

  #probe(client: RemoteClient, topic: string): void {
    const { requestCount } = client
    const message: Publish = {
      topic,
      payload: NO_BYTES,
      correlationData: randomBytes(16),
      messageExpiry: PROBE_EXPIRY_SECONDS,
      userProperties: { [PROPERTY.status]: String(STATUS.unavailable), [PROPERTY.protocolVersion]: PROTOCOL_VERSION },
    }
    this.#publish(message, refusal => this.#clients.onDelivered(client, requestCount, topic, refusal))
  }
}
