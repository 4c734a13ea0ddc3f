import type { Observable } from 'rxjs'
import { checkArgument, checkFunction } from '../../core/util/check.js'
import { ArgumentError, StateStoreError, reason as words } from '../../core/util/errors.js'
import { jsonHubCodec } from '../wire/json-hub-codec.js'
import { checkName } from '../wire/rules.js'
import type { ConnectionEvent, HubDriver, MembershipEvent } from './hub-driver.js'
import { CLOSE } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import { type Connection, MAX_GROUPS } from './identity.js'
import { type GroupGuard, PERMISSIONS, type Permission } from './permissions.js'
import { checkExcluded, encode, type MessageOptions, payloadOf, type SendOptions } from './requests.js'
import { type DataFrame, SharedCodec } from './shared-codec.js'
import type { TokenOptions } from './tokens.js'
import type { UserEvent } from './user-event.js'

const VALIDATION_CODEC = new SharedCodec(jsonHubCodec)

/** A URL for one client, and the access token in the URL. */
export interface ClientAccess {
  /** The URL `ws://host:port/client/hubs/{hub}?access_token={token}`. */
  readonly url: string
  readonly token: string
}

/**
 * The application's side of a hub. Messages also reach disconnected clients, because they are kept until the client
 * reconnects, up to the session's limits. Calls for an unknown connection have no effect and return `false` or 0.
 *
 * @example
 * ```ts
 * const hub = server.hub('chat')
 * hub.connections$.subscribe(({ type, connection }) =>
 *   console.log(type, connection.userId),
 * )
 * hub.events$.subscribe(event => event.accept())
 * hub.sendToGroup('kitchen', { temperature: 21 })
 * ```
 */
export class Hub {
  readonly name: string
  /** The URL to which clients connect, `ws://host:port/client/hubs/{hub}`. */
  readonly url: string
  /** Emits sessions that begin and end. Hot. */
  readonly connections$: Observable<ConnectionEvent>
  /**
   * Emits connections that join and leave groups, for any reason. Hot. Emits `joined` before any later message to the
   * group is sent, and before the client's request is acknowledged. For groups in an identity, emits `joined` after the
   * connection's `connected`.
   */
  readonly memberships$: Observable<MembershipEvent>
  /** Emits events from clients. Hot. Without subscribers, events are rejected as `NotFound`. */
  readonly events$: Observable<UserEvent>
  readonly #driver: HubDriver
  readonly #sign: (options: TokenOptions) => Promise<string>

  constructor(name: string, url: string, driver: HubDriver, sign: (options: TokenOptions) => Promise<string>) {
    this.name = name
    this.url = url
    this.#driver = driver
    this.#sign = sign
    this.connections$ = driver.connections$.asObservable()
    this.memberships$ = driver.memberships$.asObservable()
    this.events$ = driver.events$.asObservable()
  }

  /** All sessions, including those of disconnected clients. */
  get connections(): readonly Connection[] {
    return [...this.#driver.engine.sessionIndex.all]
  }

  /**
   * Sends to every session. Returns the number of sessions. Throws {@link ArgumentError} for data that cannot be sent.
   * The application is not subject to backpressure. More than 1000 messages or 16 MiB sent synchronously end every
   * session, because no client can acknowledge in between.
   */
  sendToAll(data: unknown, options: SendOptions = {}): number {
    const targets = this.#driver.engine.sessionIndex.all
    return this.#send(targets, { type: 'serverMessage', payload: payloadOf(data, options) }, options)
  }

  /**
   * Sends to a group's members. Returns the number of members. Throws {@link ArgumentError} as {@link sendToAll}
   * does. More than 1000 messages sent synchronously end every member's session.
   */
  sendToGroup(group: string, data: unknown, options: SendOptions = {}): number {
    checkName('group', group)
    const targets = this.#driver.engine.sessionIndex.ofGroup(group)
    return this.#send(targets, { type: 'groupMessage', group, payload: payloadOf(data, options) }, options)
  }

  /**
   * Sends a group message to one member only, in order with its other messages. Returns whether the connection is a
   * member. Throws {@link ArgumentError} as {@link sendToAll} does.
   */
  sendToMember(group: string, connectionId: string, data: unknown, options: MessageOptions = {}): boolean {
    checkName('group', group)
    const frame: DataFrame = { type: 'groupMessage', group, payload: payloadOf(data, options) }
    const session = this.#session(connectionId)
    return this.#send(new Set(session?.groupNames.has(group) ? [session] : []), frame, {}) > 0
  }

  /** Sends to a user's connections. Returns the number of connections. Throws as {@link sendToAll} does. */
  sendToUser(userId: string, data: unknown, options: SendOptions = {}): number {
    const targets = this.#driver.engine.sessionIndex.ofUser(userId)
    return this.#send(targets, { type: 'serverMessage', payload: payloadOf(data, options) }, options)
  }

  /**
   * Sends to one connection. Returns whether the connection exists. Throws {@link ArgumentError} as {@link sendToAll}
   * does.
   */
  sendToConnection(connectionId: string, data: unknown, options: MessageOptions = {}): boolean {
    const frame: DataFrame = { type: 'serverMessage', payload: payloadOf(data, options) }
    const session = this.#session(connectionId)
    return this.#send(new Set(session ? [session] : []), frame, {}) > 0
  }

  /**
   * Adds a connection to a group. Returns whether the connection exists. Throws {@link StateStoreError} `overflow`
   * beyond 1000 groups.
   */
  addToGroup(group: string, connectionId: string): boolean {
    checkName('group', group)
    const session = this.#session(connectionId)
    if (session === undefined) return false
    if (this.#driver.engine.join(session, group)) return true
    throw new StateStoreError('overflow', `Connection ${connectionId} is in ${MAX_GROUPS} groups, the maximum`)
  }

  /** Removes a connection from a group. Returns whether the connection exists. */
  removeFromGroup(group: string, connectionId: string): boolean {
    checkName('group', group)
    const session = this.#session(connectionId)
    if (session !== undefined) this.#driver.engine.leave(session, group)
    return session !== undefined
  }

  /**
   * Adds a function that decides what clients may do with groups, before their permissions apply (see {@link
   * GroupGuard}). Returns a function that removes the guard. Calls of the application need no permission.
   *
   * @example
   * ```ts
   * hub.guard(({ userId }, action, group) =>
   *   group === `inbox:${userId}` ? action !== 'send' : undefined,
   * )
   * ```
   */
  guard(decide: GroupGuard): () => void {
    checkFunction('decide', decide)
    return this.#driver.guards.add(decide)
  }

  /**
   * Sends the reason to the client and ends its session. Returns whether the connection exists. Throws {@link
   * ArgumentError} if the reason is not a string.
   */
  closeConnection(connectionId: string, reason = ''): boolean {
    checkArgument(typeof reason === 'string', '`reason` to be a string', reason)
    const session = this.#session(connectionId)
    if (session === undefined) return false
    session.send({ type: 'disconnected', reason })
    this.#driver.engine.end(session, 'hub', CLOSE.normal, reason)
    return true
  }

  /** Grants a permission for one group, or for all groups if none is given. Returns whether the connection exists. */
  grant(connectionId: string, permission: Permission, group?: string): boolean {
    const session = this.#sessionForPermission(connectionId, permission, group)
    session?.permissions.grant(permission, group)
    return session !== undefined
  }

  /**
   * Revokes a permission granted for exactly this group, by role or by {@link grant}. Permissions for all groups or by
   * a pattern stay. Without a group, revokes the permission entirely. Returns whether the connection exists.
   */
  revoke(connectionId: string, permission: Permission, group?: string): boolean {
    const session = this.#sessionForPermission(connectionId, permission, group)
    session?.permissions.revoke(permission, group)
    return session !== undefined
  }

  /**
   * Creates an access token for one client of this hub. Requires a server with `authenticate: { key }`, and otherwise
   * rejects with {@link ArgumentError}.
   *
   * @example
   * ```ts
   * const { url } = await hub.token({
   *   userId: 'ann',
   *   roles: ['webpubsub.sendToGroup.chat'],
   *   expiresIn: 60_000,
   * })
   * ```
   */
  async token(options: TokenOptions = {}): Promise<ClientAccess> {
    const token = await this.#sign(options)
    return { token, url: `${this.url}?access_token=${token}` }
  }

  #session(connectionId: string): HubSession | undefined {
    return this.#driver.engine.sessionIndex.get(connectionId)
  }

  #sessionForPermission(
    connectionId: string,
    permission: Permission,
    group: string | undefined,
  ): HubSession | undefined {
    checkArgument(PERMISSIONS.includes(permission), `\`permission\` to be one of ${PERMISSIONS.join(', ')}`, permission)
    if (group !== undefined) checkName('group', group)
    return this.#session(connectionId)
  }

  #send(targets: ReadonlySet<HubSession>, frame: DataFrame, options: SendOptions): number {
    const excluded = checkExcluded(options)
    try {
      // Without recipients, encoding still makes invalid data throw.
      if (targets.size === 0) encode(VALIDATION_CODEC, frame)
      return this.#driver.deliver(targets, frame, excluded)
    } catch (cause) {
      throw new ArgumentError(`The message cannot be sent: ${words(cause)}`, { cause })
    }
  }
}
