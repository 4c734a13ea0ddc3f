import type { Subject } from 'rxjs'
import type { Connect, Incoming, UserProperties } from '../../core/mqtt5/packets.js'
import type { Client, PublishRejection } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { PROPERTY } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC } from '../../core/protocol/topics.js'
import type { Clock } from '../../core/util/clock.js'
import type { Disconnection } from '../../node/net/audit.js'
import type { Authorizer } from '../access/authorizer.js'
import type { BrokerHandler } from '../broker/broker.js'
import type { ConnectCredentials, Verdict } from '../broker/session/handler.js'
import type { StoreService } from '../service/store-service.js'
import type { OpenedStorage } from '../storage/storage.js'
import type { RejectionAudit } from './rejection-audit.js'
import type { AccessControl } from './security.js'
import type { StoreEvents } from './store-events.js'
import type { Fault } from './store-server.js'

/** The number of watches that are checked before others are served. */
const WATCHES_PER_STEP = 64

const UNKNOWN_METHOD = {
  type: 'refused',
  reasonCode: REASON.badAuthenticationMethod,
  reason: 'unknown authentication method',
} as const

export interface HandlerDependencies {
  readonly server: StoreService
  readonly engine: OpenedStorage['engine']
  readonly clock: Clock
  /** Wall clock by which the store assigns versions, ms since the Unix epoch. */
  readonly storeTime: () => number
  readonly events: Pick<StoreEvents, 'faults$'>
  readonly access: AccessControl
  readonly rejections: RejectionAudit
  readonly isNode: boolean
}

/** Handles the messages to the store's request topic at its broker, and authorizes clients. */
export class StoreBrokerHandler implements BrokerHandler {
  readonly topic = INVOKE_TOPIC
  readonly server: StoreService
  readonly now: () => number
  readonly #storeTime: () => number
  readonly #connectedSince = new WeakMap<Client, number>()
  /** The reason why clients are currently rejected. Only nodes set a reason. */
  unavailableReason: string | undefined
  readonly authenticate?: NonNullable<BrokerHandler['authenticate']>
  readonly #faults$: Subject<Fault>
  readonly #rejections: RejectionAudit
  readonly #authorizer: Authorizer | undefined
  readonly #watchedBy: (client: Client) => Iterable<Uint8Array>

  constructor({
    server,
    engine,
    clock,
    storeTime,
    events,
    access: { authorizer },
    rejections,
    isNode,
  }: HandlerDependencies) {
    this.#watchedBy = client => engine.watchedBy(client)
    this.#authorizer = authorizer
    this.#rejections = rejections
    if (isNode) this.authenticate = (client, credentials) => this.#authenticateOnNode(client, credentials)
    else if (authorizer) this.authenticate = (client, credentials) => authorizer.authenticate(client, credentials)
    this.server = server
    this.now = () => clock.now()
    this.#storeTime = storeTime
    this.#faults$ = events.faults$
  }

  /** Returns the time when the client connected, in ms since the Unix epoch. */
  connectedSince(connection: Client): number | undefined {
    return this.#connectedSince.get(connection)
  }

  checkPublish(client: Client, message: Incoming): PublishRejection | undefined {
    return this.server.rules.checkPublish(client, message)
  }

  handlePublish(client: Client, message: Incoming): boolean {
    return this.server.handleRequest(client, message)
  }

  maySubscribe(client: Client, filter: string): boolean {
    return this.server.rules.maySubscribe(client, filter)
  }

  connackProperties({ userProperties }: Connect): UserProperties | undefined {
    const asksForTime = userProperties.some(([name]) => name === PROPERTY.storeTime)
    return asksForTime ? [[PROPERTY.storeTime, String(Math.floor(this.#storeTime()))]] : undefined
  }

  onConnected(connection: Client): void {
    this.#connectedSince.set(connection, this.now())
    this.#authorizer?.recordAccepted(connection)
  }

  onDisconnected(connection: Client): void {
    this.server.removeConnection(connection)
  }

  onAdmissionRejected(connection: Client, reason: string): void {
    this.#authorizer?.recordAborted(connection, reason)
  }

  /** Searches for a watched key that the client must no longer read. */
  *findForbiddenWatch(connection: Client): Generator<boolean, void> {
    const authorizer = this.#authorizer
    if (!authorizer?.hasPolicy) return
    let count = 0
    for (const key of this.#watchedBy(connection)) {
      if (!authorizer.canRead(connection, key)) yield true
      else if (++count % WATCHES_PER_STEP === 0) yield false
    }
  }

  responseInformation(clientId: string): string {
    return `clients/${clientId}`
  }

  onQuotaExceeded(client: Client, action: 'connect' | 'publish' | 'subscribe', target: string): void {
    this.#rejections.recordQuotaExceeded(client, action, target)
  }

  onConnectionCut(cut: Disconnection, client?: Client): void {
    this.#rejections.recordCut(cut, client)
  }

  onError(error: unknown, clientId: string): void {
    this.#faults$.next({ clientId, error })
  }

  #authenticateOnNode(client: Client, credentials: ConnectCredentials): Verdict | Promise<Verdict> {
    if (this.unavailableReason !== undefined)
      return { type: 'refused', reasonCode: REASON.serverUnavailable, reason: this.unavailableReason }
    if (this.#authorizer) return this.#authorizer.authenticate(client, credentials)
    return credentials.connect.authenticationMethod === undefined ? { type: 'accepted' } : UNKNOWN_METHOD
  }
}
