import { PacketError } from '../../core/mqtt5/packet-error.js'
import type { Client } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import type { Glob } from '../../core/protocol/glob.js'
import { notificationPrefix } from '../../core/protocol/topics.js'
import { displayText, fromHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { errorLabel } from '../../core/util/errors.js'
import type { AccessReport, Audit, AuditEvent } from '../../node/net/audit.js'
import type { ConnectCredentials, SessionOwner, Verdict } from '../broker/session/handler.js'
import { listenerName } from '../broker/session/link.js'
import type { KeyRights } from '../engine/engine.js'
import { isOwnStoreTopic, type TopicRights } from '../service/topic-rules.js'
import { readCertificate } from './certificates.js'
import {
  ANONYMOUS,
  type Authenticate,
  LOGIN_REFUSAL,
  type LoginRefusal,
  type LoginRequest,
  type LoginResult,
  type Principal,
  sessionOwnerId,
} from './login.js'
import { LoginService } from './login-service.js'
import type { Policy } from './policy.js'
import { Rights } from './rights.js'

export interface AuthorizerOptions {
  readonly authenticate: Authenticate | undefined
  readonly allowAnonymous: boolean
  readonly policy: Policy | undefined
  readonly clock: Clock
  readonly onAuthenticateError: (error: unknown, clientId: string) => void
}

interface RejectedLogin {
  readonly refused: LoginRefusal
  /** The text that the client receives. */
  readonly reason: string
  /** The name in the audit log. Default: the user name in the request. */
  readonly username?: string | undefined
  readonly auditReason?: string
}

const MAX_TARGET_LENGTH = 256
const UNAVAILABLE = 'clients cannot be authenticated at the moment'
const EMPTY_GLOB: Glob = { words: 1, matches: () => false }

/** Authenticates clients and checks their rights. One authorizer serves all runs of the store. */
export class Authorizer implements KeyRights<Client>, TopicRights {
  readonly #options: AuthorizerOptions
  readonly #audit: Audit
  readonly #loginService: LoginService | undefined
  readonly #rightsByClient = new WeakMap<object, ClientRights>()
  /** The accepted logins whose connection is not established yet. */
  readonly #pendingLoginEvents = new WeakMap<object, AccessReport>()
  #policy: Policy | undefined
  #rejectedLogins = 0

  constructor(options: AuthorizerOptions, audit: Audit) {
    this.#options = options
    this.#audit = audit
    this.#loginService = options.authenticate && new LoginService(options.authenticate, options.clock)
    this.#policy = options.policy
  }

  /** Returns whether a policy applies. Without a policy, an accepted client may do everything. */
  get hasPolicy(): boolean {
    return this.#policy !== undefined
  }

  get rejectedLogins(): number {
    return this.#rejectedLogins
  }

  get failedLogins(): LoginService['failedLogins'] | undefined {
    return this.#loginService?.failedLogins
  }

  /** Why clients with valid credentials may be rejected. */
  get loginProblem(): string | undefined {
    return this.#options.authenticate?.problem?.()
  }

  setPolicy(policy: Policy): void {
    this.#policy = policy
  }

  authenticate(client: Client, credentials: ConnectCredentials): Verdict | Promise<Verdict> {
    const request = loginRequestOf(client.clientId, credentials)
    const loginService = this.#loginService
    if (loginService === undefined || (this.#options.allowAnonymous && hasNoCredentials(request)))
      return this.#admit(client, request, { principal: ANONYMOUS })
    const rejection = loginService.rejectionFor(request)
    if (rejection) return this.#rejectLogin(request, { refused: rejection.refused, reason: rejection.reason })
    return this.#login(loginService, client, request)
  }

  recordAccepted(client: Client): void {
    this.#recordLogin(client, 'accepted')
  }

  /**
   * Records a login as refused. The client was authenticated but not admitted, for instance because its client id is
   * taken.
   */
  recordAborted(client: Client, reason: string): void {
    this.#recordLogin(client, 'refused', reason)
  }

  mayPublish(connection: Client, topic: string): boolean {
    return (
      this.#rightsByClient.get(connection)?.mayPublish(topic) || this.#recordRejection(connection, 'publish', topic)
    )
  }

  maySubscribe(connection: Client, filter: string): boolean {
    return (
      this.#rightsByClient.get(connection)?.maySubscribe(filter) ||
      this.#recordRejection(connection, 'subscribe', filter)
    )
  }

  mayRead(connection: Client, key: Uint8Array): boolean {
    return this.canRead(connection, key) || this.#recordRejection(connection, 'read', displayText(key))
  }

  mayWrite(connection: Client, key: Uint8Array): boolean {
    const allowed = this.#rightsByClient.get(connection)?.rights.allows({ type: 'write', key })
    return allowed || this.#recordRejection(connection, 'write', displayText(key))
  }

  readable(connection: Client): Glob {
    return this.#rightsByClient.get(connection)?.rights.readable ?? EMPTY_GLOB
  }

  /** Returns the same as {@link mayRead} without adding an entry to the audit log. */
  canRead(connection: object, key: Uint8Array): boolean {
    return this.#rightsByClient.get(connection)?.rights.allows({ type: 'read', key }) ?? false
  }

  /** Returns the rights of a client under the current policy, or `undefined` if the client is not authenticated. */
  rightsOf(client: object): Rights | undefined {
    return this.#rightsByClient.get(client)?.rights
  }

  usernameOf(client: object): string | undefined {
    return this.#rightsByClient.get(client)?.username
  }

  async #login(loginService: LoginService, client: Client, request: LoginRequest): Promise<Verdict> {
    const outcome = await loginService.login(request)
    if ('thrown' in outcome) return this.#rejectAfterError(request, outcome.thrown)
    if ('challenge' in outcome) return { type: 'continue', data: outcome.challenge, state: outcome.state }
    if ('refused' in outcome) return this.#rejectLogin(request, { refused: outcome.refused, reason: outcome.reason })
    const verdict = this.#admit(client, request, outcome)
    if (verdict.type === 'accepted') loginService.recordSuccess(request, outcome.principal)
    return verdict
  }

  /**
   * The client and the audit log get only the error's label, because its message may contain addresses or passwords.
   */
  #rejectAfterError(request: LoginRequest, error: unknown): Verdict {
    this.#options.onAuthenticateError(error, request.clientId)
    return this.#rejectLogin(request, {
      refused: 'unavailable',
      reason: UNAVAILABLE,
      auditReason: `${UNAVAILABLE}: ${errorLabel(error)}`,
    })
  }

  #admit(
    client: Client,
    request: LoginRequest,
    { principal, data }: Extract<LoginResult, { principal: unknown }>,
  ): Verdict {
    const rights = new ClientRights(principal, client.clientId, () => this.#policy)
    if (this.hasPolicy && !rights.canConnect) {
      const reason = `no policy rule lets ${principal.username ?? 'an unnamed client'} connect with this client id`
      return this.#rejectLogin(request, { refused: 'not-authorized', reason, username: principal.username })
    }
    const previous = client.open ? this.#rightsByClient.get(client) : undefined
    if (previous !== undefined && previous.id !== rights.id)
      return this.#rejectLogin(request, {
        refused: 'not-authorized',
        reason: 'reauthentication used the credentials of another principal',
        username: principal.username,
      })
    this.#rightsByClient.set(client, rights)
    this.#pendingLoginEvents.set(client, { event: 'login', ...auditFields(request), username: principal.username })
    // A client that reauthenticates is already connected.
    if (client.open) this.recordAccepted(client)
    return { type: 'accepted', data, owner: rights, expiresAt: principal.expiresAt }
  }

  #recordLogin(client: Client, outcome: 'accepted' | 'refused', reason?: string): void {
    const event = this.#pendingLoginEvents.get(client)
    this.#pendingLoginEvents.delete(client)
    if (event) this.#record({ ...event, outcome, ...(reason !== undefined && { reason }) })
  }

  #rejectLogin(
    request: LoginRequest,
    { refused, reason, username = request.username, auditReason = reason }: RejectedLogin,
  ): Verdict {
    this.#rejectedLogins++
    this.#record({ event: 'login', outcome: 'refused', ...auditFields(request), username, reason: auditReason })
    return { type: 'refused', reasonCode: LOGIN_REFUSAL[refused], reason }
  }

  #recordRejection(connection: Client, action: NonNullable<AuditEvent['action']>, target: string): false {
    const { clientId } = connection
    const username = this.usernameOf(connection)
    this.#record({ event: 'refused', action, clientId, username, target: target.slice(0, MAX_TARGET_LENGTH) })
    return false
  }

  #record(event: AccessReport): void {
    this.#audit.report(event)
  }
}

const hasNoCredentials = ({ username, password, method, certificate }: LoginRequest): boolean =>
  username === undefined && password === undefined && method === undefined && certificate === undefined

const auditFields = ({ clientId, remoteAddress: address, listener }: LoginRequest) => ({ clientId, address, listener })

function loginRequestOf(clientId: string, { connect, link, data, state, signal }: ConnectCredentials): LoginRequest {
  const { username, password, authenticationMethod: method } = connect
  const { remoteAddress, transport, secure } = link
  const chain = secure?.readChain()
  // The socket was destroyed, so its certificate is no longer available.
  if (chain === null)
    throw new PacketError(REASON.serverUnavailable, 'the client disconnected before it was authenticated')
  const certificate = chain && readCertificate(chain)
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

const haveSameEntries = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean => {
  const [some, others] = [Object.entries(a), Object.entries(b)]
  return some.length === others.length && some.every(([name, value]) => Object.hasOwn(b, name) && b[name] === value)
}

const NO_POLICY: Policy = { rules: [] }

/** The rights of one authenticated client under the current policy. */
export class ClientRights implements SessionOwner {
  readonly id: string
  readonly clientId: string
  readonly username: string | undefined
  readonly #principal: Principal
  readonly #currentPolicy: () => Policy | undefined
  #policy: Policy | undefined
  #rights: Rights

  constructor(principal: Principal, clientId: string, currentPolicy: () => Policy | undefined) {
    this.id = sessionOwnerId(principal)
    this.clientId = clientId
    this.username = principal.username
    this.#principal = principal
    this.#currentPolicy = currentPolicy
    this.#policy = currentPolicy()
    this.#rights = this.#computeRights(this.#policy)
  }

  /** The rights under the current policy, recomputed after the policy has changed. */
  get rights(): Rights {
    const policy = this.#currentPolicy()
    if (policy !== this.#policy) {
      this.#policy = policy
      this.#rights = this.#computeRights(policy)
    }
    return this.#rights
  }

  get canConnect(): boolean {
    return this.#isUnrestricted || this.rights.allows({ type: 'connect' })
  }

  maySubscribe(filter: string): boolean {
    return (
      this.#isUnrestricted ||
      isOwnStoreTopic(this.clientId, filter) ||
      this.rights.allows({ type: 'subscribe', filter })
    )
  }

  canReceive(topic: string): boolean {
    if (this.#isUnrestricted) return true
    const notifications = notificationPrefix(this.clientId)
    const key = topic.startsWith(notifications) ? fromHex(topic.slice(notifications.length)) : undefined
    return key === undefined ? this.maySubscribe(topic) : this.rights.allows({ type: 'read', key })
  }

  mayPublish(topic: string): boolean {
    return this.rights.allows({ type: 'publish', topic })
  }

  hasSameRights(earlier: SessionOwner): boolean {
    return (
      earlier instanceof ClientRights &&
      earlier.#policy === this.#policy &&
      this.#policy === this.#currentPolicy() &&
      earlier.id === this.id &&
      earlier.clientId === this.clientId &&
      earlier.username === this.username &&
      haveSameEntries(earlier.#principal.attributes ?? {}, this.#principal.attributes ?? {})
    )
  }

  get #isUnrestricted(): boolean {
    return this.#currentPolicy() === undefined
  }

  #computeRights(policy: Policy | undefined): Rights {
    const { username, attributes } = this.#principal
    return new Rights(policy ?? NO_POLICY, { clientId: this.clientId, username, attributes })
  }
}
