import { PacketError } from '../../core/mqtt5/packet-error.js'
import type { Client } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import type { Glob } from '../../core/protocol/glob.js'
import { notificationPrefix } from '../../core/protocol/topics.js'
import { displayText, fromHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { errorLabel } from '../../core/util/errors.js'
import type { Audit, AuditEvent } from '../../node/net/audit.js'
import type { Credentials, SessionOwner, Verdict } from '../broker/session/handler.js'
import { listenerName } from '../broker/session/link.js'
import type { KeyRights } from '../engine/engine.js'
import { isOwnStoreTopic, type TopicRights } from '../service/topic-rules.js'
import { readCertificate } from './certificates.js'
import {
  ANYBODY,
  type Authenticate,
  LOGIN_REFUSAL,
  type LoginRefusal,
  type LoginRequest,
  type LoginResult,
  ownerOf,
  type Principal,
} from './login.js'
import { LoginService } from './login-service.js'
import type { Policy } from './policy.js'
import { Rights } from './rights.js'

/** Who may come in, and what is in force. */
export interface GuardOptions {
  readonly authenticate: Authenticate | undefined
  readonly allowAnonymous: boolean
  readonly policy: Policy | undefined
  readonly clock: Clock
  /** Is told what `authenticate` throws. */
  readonly failed: (error: unknown, clientId: string) => void
}

/** A login that was turned away. */
interface TurnedAway {
  readonly refused: LoginRefusal
  /** What the client is told. */
  readonly words: string
  /** As whom it came; by default the user name it gave. */
  readonly username?: string | undefined
  /** What the audit log says; by default the same words. */
  readonly recorded?: string
}

const LONGEST_TARGET = 256
const UNAVAILABLE = 'clients cannot be authenticated at the moment'
const NOTHING: Glob = { words: 1, matches: () => false }

/** Stands at the door of a store: finds out who somebody is, and says what it may do. It outlives the store's restarts. */
export class Authorizer implements KeyRights<Client>, TopicRights {
  readonly #options: GuardOptions
  readonly #audit: Audit
  /** Without any everybody is let in. */
  readonly #loginService: LoginService | undefined
  readonly #tenants = new WeakMap<object, ClientRights>()
  /** Those who are let in, as far as it is for us to say. */
  readonly #entering = new WeakMap<object, Omit<AuditEvent, 'time'>>()
  #policy: Policy | undefined
  #refusedLogins = 0

  constructor(options: GuardOptions, audit: Audit) {
    this.#options = options
    this.#audit = audit
    this.#loginService = options.authenticate && new LoginService(options.authenticate, options.clock)
    this.#policy = options.policy
  }

  /** Whether there is a policy; else everybody who is let in may do everything. */
  get judges(): boolean {
    return this.#policy !== undefined
  }

  /** How many logins were turned away. */
  get refusedLogins(): number {
    return this.#refusedLogins
  }

  /** From where logins failed. */
  get failed(): LoginService['failed'] | undefined {
    return this.#loginService?.failed
  }

  /** Another policy is in force from now on. */
  setPolicy(policy: Policy): void {
    this.#policy = policy
  }

  authenticate(client: Client, credentials: Credentials): Verdict | Promise<Verdict> {
    const request = requestOf(client.clientId, credentials)
    const logins = this.#loginService
    if (logins === undefined || (this.#options.allowAnonymous && showsNothing(request)))
      return this.#admit(client, request, { principal: ANYBODY })
    const objection = logins.objection(request)
    if (objection) return this.#turnAway(request, { refused: objection.refused, words: objection.reason })
    return this.#ask(logins, client, request)
  }

  /** A client is in. */
  entered(client: Client): void {
    this.#enter(client, 'accepted')
  }

  /** A client is not let in after all. */
  shutOut(client: Client, words: string): void {
    this.#enter(client, 'refused', words)
  }

  mayPublish(connection: Client, topic: string): boolean {
    return this.#tenants.get(connection)?.mayPublish(topic) || this.#refuse(connection, 'publish', topic)
  }

  maySubscribe(connection: Client, filter: string): boolean {
    return this.#tenants.get(connection)?.maySubscribe(filter) || this.#refuse(connection, 'subscribe', filter)
  }

  mayRead(connection: Client, key: Uint8Array): boolean {
    return this.stillReads(connection, key) || this.#refuse(connection, 'read', displayText(key))
  }

  mayWrite(connection: Client, key: Uint8Array): boolean {
    const allowed = this.#tenants.get(connection)?.rights.allows({ type: 'write', key })
    return allowed || this.#refuse(connection, 'write', displayText(key))
  }

  readable(connection: Client): Glob {
    return this.#tenants.get(connection)?.rights.readable ?? NOTHING
  }

  /** {@link mayRead} of somebody who does not ask at the moment. */
  stillReads(connection: object, key: Uint8Array): boolean {
    return this.#tenants.get(connection)?.rights.allows({ type: 'read', key }) ?? false
  }

  /** The user name of somebody who was let in, if it has one. */
  usernameOf(client: object): string | undefined {
    return this.#tenants.get(client)?.username
  }

  async #ask(logins: LoginService, client: Client, request: LoginRequest): Promise<Verdict> {
    const outcome = await logins.ask(request)
    if ('thrown' in outcome) return this.#broken(request, outcome.thrown)
    if ('challenge' in outcome) return { type: 'continue', data: outcome.challenge, state: outcome.state }
    if ('refused' in outcome) return this.#turnAway(request, { refused: outcome.refused, words: outcome.reason })
    const verdict = this.#admit(client, request, outcome)
    if (verdict.type === 'accepted') logins.succeeded(request, outcome.principal)
    return verdict
  }

  /** What went wrong is for the operator alone: there may be addresses and passwords in it. */
  #broken(request: LoginRequest, error: unknown): Verdict {
    this.#options.failed(error, request.clientId)
    return this.#turnAway(request, {
      refused: 'unavailable',
      words: UNAVAILABLE,
      recorded: `${UNAVAILABLE}: ${errorLabel(error)}`,
    })
  }

  #admit(
    client: Client,
    request: LoginRequest,
    { principal, data }: Extract<LoginResult, { principal: unknown }>,
  ): Verdict {
    const tenant = new ClientRights(principal, client.clientId, () => this.#policy)
    if (this.judges && !tenant.welcome) {
      const words = `no rule lets ${principal.username ?? 'somebody without a name'} connect with this client id`
      return this.#turnAway(request, { refused: 'not-authorized', words, username: principal.username })
    }
    const before = client.open ? this.#tenants.get(client) : undefined
    if (before !== undefined && before.id !== tenant.id)
      return this.#turnAway(request, {
        refused: 'not-authorized',
        words: 'these are the credentials of somebody else',
        username: principal.username,
      })
    this.#tenants.set(client, tenant)
    this.#entering.set(client, { event: 'login', ...whoOf(request), username: principal.username })
    // By AUTH of one who is in.
    if (client.open) this.entered(client)
    return { type: 'accepted', data, holder: tenant, expiresAt: principal.expiresAt }
  }

  #enter(client: Client, outcome: 'accepted' | 'refused', reason?: string): void {
    const event = this.#entering.get(client)
    this.#entering.delete(client)
    if (event) this.#tell({ ...event, outcome, ...(reason !== undefined && { reason }) })
  }

  #turnAway(
    request: LoginRequest,
    { refused, words, username = request.username, recorded = words }: TurnedAway,
  ): Verdict {
    this.#refusedLogins++
    this.#tell({ event: 'login', outcome: 'refused', ...whoOf(request), username, reason: recorded })
    return { type: 'refused', reasonCode: LOGIN_REFUSAL[refused], reason: words }
  }

  #refuse(connection: Client, action: NonNullable<AuditEvent['action']>, target: string): false {
    const { clientId } = connection
    const username = this.usernameOf(connection)
    this.#tell({ event: 'refused', action, clientId, username, target: target.slice(0, LONGEST_TARGET) })
    return false
  }

  #tell(event: Omit<AuditEvent, 'time'>): void {
    this.#audit.tell(event)
  }
}

const showsNothing = ({ username, password, method, certificate }: LoginRequest): boolean =>
  username === undefined && password === undefined && method === undefined && certificate === undefined

const whoOf = ({ clientId, remoteAddress: address, listener }: LoginRequest) => ({ clientId, address, listener })

function requestOf(clientId: string, { connect, link, data, state, signal }: Credentials): LoginRequest {
  const { username, password, authenticationMethod: method } = connect
  const { remoteAddress, transport, secure } = link
  const peer = secure?.getPeerCertificate(true)
  // Who has cut the connection by now has shown nothing that could still be seen.
  if (peer === null) throw new PacketError(REASON.serverUnavailable, 'the client went before it was asked who it is')
  const certificate = peer && readCertificate(peer, secure?.authorized ?? false)
  return {
    clientId,
    username,
    password,
    method,
    data,
    state,
    certificate,
    remoteAddress,
    listener: listenerName(transport, secure !== undefined),
    signal,
  }
}

/** Stands in where there is no policy: its rules are never asked. */
const NO_POLICY: Policy = { rules: [] }

/** Somebody who is let in, and what it may do by the policy that is in force. */
export class ClientRights implements SessionOwner {
  readonly id: string
  readonly clientId: string
  readonly username: string | undefined
  readonly #principal: Principal
  readonly #policyOf: () => Policy | undefined
  #policy: Policy | undefined
  #rights: Rights

  /** @param policyOf - the policy that is in force; without one everything may be done */
  constructor(principal: Principal, clientId: string, policyOf: () => Policy | undefined) {
    this.id = ownerOf(principal)
    this.clientId = clientId
    this.username = principal.username
    this.#principal = principal
    this.#policyOf = policyOf
    this.#policy = policyOf()
    this.#rights = this.#look(this.#policy)
  }

  /** What it may do now. */
  get rights(): Rights {
    const policy = this.#policyOf()
    if (policy !== this.#policy) {
      this.#policy = policy
      this.#rights = this.#look(policy)
    }
    return this.#rights
  }

  get welcome(): boolean {
    return this.#free || this.rights.allows({ type: 'connect' })
  }

  maySubscribe(filter: string): boolean {
    return this.#free || isOwnStoreTopic(this.clientId, filter) || this.rights.allows({ type: 'subscribe', filter })
  }

  mayHear(topic: string): boolean {
    if (this.#free) return true
    const notifications = notificationPrefix(this.clientId)
    const key = topic.startsWith(notifications) ? fromHex(topic.slice(notifications.length)) : undefined
    return key === undefined ? this.maySubscribe(topic) : this.rights.allows({ type: 'read', key })
  }

  mayPublish(topic: string): boolean {
    return this.rights.allows({ type: 'publish', topic })
  }

  get #free(): boolean {
    return this.#policyOf() === undefined
  }

  #look(policy: Policy | undefined): Rights {
    const { username, attributes } = this.#principal
    return new Rights(policy ?? NO_POLICY, { clientId: this.clientId, username, attributes })
  }
}
