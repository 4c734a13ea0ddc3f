import type { Subject } from 'rxjs'
import type { Incoming } from '../../core/mqtt5/packets.js'
import type { Client, Refusal } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { INVOKE_TOPIC } from '../../core/protocol/topics.js'
import type { Cut } from '../../node/net/audit.js'
import type { Guard } from '../access/guard.js'
import type { BrokerHandler } from '../broker/broker.js'
import type { Credentials, Verdict } from '../broker/session/handler.js'
import type { StateStoreServer } from '../service/state-store-server.js'
import type { Opened } from '../storage/storage.js'
import type { Door } from './door.js'
import type { Exceeded } from './exceeded.js'
import type { Fault } from './running-store.js'

const NO_METHOD = {
  type: 'refused',
  reasonCode: REASON.badAuthenticationMethod,
  reason: 'there is no such authentication method',
} as const

/** What the broker asks of the store. */
export class Handler implements BrokerHandler {
  readonly topic = INVOKE_TOPIC
  readonly server: StateStoreServer
  /** Wall time, ms. */
  readonly now: () => number
  readonly #since = new WeakMap<Client, number>()
  /** Why no client is let in, if so; only of a node. */
  away: string | undefined
  readonly authenticate?: NonNullable<BrokerHandler['authenticate']>
  readonly #faults$: Subject<Fault>
  readonly #exceeded: Exceeded
  readonly #guard: Guard | undefined
  readonly #watchedBy: (client: Client) => Iterable<Uint8Array>

  constructor(
    server: StateStoreServer,
    engine: Opened['engine'],
    now: () => number,
    faults$: Subject<Fault>,
    { guard }: Door,
    exceeded: Exceeded,
    isNode: boolean,
  ) {
    this.#watchedBy = client => engine.watchedBy(client)
    this.#guard = guard
    this.#exceeded = exceeded
    if (isNode) this.authenticate = (client, credentials) => this.#letIn(client, credentials)
    else if (guard) this.authenticate = (client, credentials) => guard.authenticate(client, credentials)
    this.server = server
    this.now = now
    this.#faults$ = faults$
  }

  /** When a connection came, ms since the Unix epoch. */
  since(connection: Client): number | undefined {
    return this.#since.get(connection)
  }

  refuse(client: Client, message: Incoming): Refusal | undefined {
    return this.server.rules.refuse(client, message)
  }

  take(client: Client, message: Incoming): boolean {
    return this.server.take(client, message)
  }

  maySubscribe(client: Client, filter: string): boolean {
    return this.server.rules.maySubscribe(client, filter)
  }

  connected(connection: Client): void {
    this.#since.set(connection, this.now())
    this.#guard?.entered(connection)
  }

  disconnected(connection: Client): void {
    this.server.drop(connection)
  }

  shutOut(connection: Client, reason: string): void {
    this.#guard?.shutOut(connection, reason)
  }

  /** By a watch of a key that it may not read. */
  overreaches(connection: Client): boolean {
    const guard = this.#guard
    if (!guard?.judges) return false
    for (const key of this.#watchedBy(connection)) if (!guard.stillReads(connection, key)) return true
    return false
  }

  responseInformation(clientId: string): string {
    return `clients/${clientId}`
  }

  exceeded(client: Client, action: 'connect' | 'publish' | 'subscribe', target: string): void {
    this.#exceeded.name(client, action, target)
  }

  cut(cut: Cut, client?: Client): void {
    this.#exceeded.connection(cut, client)
  }

  failed(error: unknown, clientId: string): void {
    this.#faults$.next({ clientId, error })
  }

  #letIn(client: Client, credentials: Credentials): Verdict | Promise<Verdict> {
    if (this.away !== undefined) return { type: 'refused', reasonCode: REASON.serverUnavailable, reason: this.away }
    if (this.#guard) return this.#guard.authenticate(client, credentials)
    return credentials.connect.authenticationMethod === undefined ? { type: 'accepted' } : NO_METHOD
  }
}
