import { contentStart, uint16 } from '../../../core/mqtt5/data-types.js'
import { decodePacket } from '../../../core/mqtt5/decode.js'
import { PacketError, protocolError } from '../../../core/mqtt5/packet-error.js'
import * as PACKET from '../../../core/mqtt5/packet-types.js'
import type { Auth, Connack, Connect, Disconnect, ServerPacket, Version } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { LIMIT } from '../limits/limits.js'
import type { ConnectionHost } from './connection-host.js'
import type { BrokerHandler, Verdict } from './handler.js'
import type { Link } from './link.js'
import { DeferredPackets } from './packet-handler.js'
import { PacketWriter, type PacketWriterPeer } from './packet-writer.js'

export interface ConnectHandlerPeer extends Client, PacketWriterPeer {
  setClientId(clientId: string): void
  cut(): void
  onVerdict(verdict: Verdict): void
  fail(error: unknown): void
}

/** Handles CONNECT, authentication, and the packets that a client sends before it is authenticated. */
export class ConnectHandler {
  readonly #link: Link
  readonly #host: ConnectionHost<never>
  readonly #peer: ConnectHandlerPeer
  readonly early: DeferredPackets
  #version: Version = 5
  #pendingClient: PendingClient | undefined
  #connectBytes = 0

  constructor(link: Link, host: ConnectionHost<never>, peer: ConnectHandlerPeer) {
    this.#link = link
    this.#host = host
    this.#peer = peer
    this.early = new DeferredPackets(host.budget)
  }

  /** The version that CONNECT requested. Before CONNECT it is 5. */
  get version(): Version {
    return this.#version
  }

  /** The client, or `undefined` before CONNECT. */
  get pendingClient(): PendingClient | undefined {
    return this.#pendingClient
  }

  get heldBytes(): number {
    return this.#connectBytes + this.early.size + (this.#pendingClient?.outbound.aliasBytes ?? 0)
  }

  /** Processes a packet of an unauthenticated client. Throws {@link PacketError} to end the connection. */
  receive(frame: Uint8Array): void {
    const client = this.#pendingClient
    if (client === undefined) this.#handleConnect(frame)
    else if (client.authentication.isDeciding) this.#defer(frame)
    else {
      const packet = decodePacket(frame, client.connect.version, this.#host.accounts.maxUserProperties)
      if (packet.type !== 'auth') throw protocolError('expected AUTH')
      this.authenticate(packet)
    }
  }

  authenticate(packet: Auth): void {
    this.#pendingClient?.authentication.proceed(packet, this.#onVerdict, this.#onError)
  }

  close(): void {
    this.#pendingClient?.authentication.close()
    this.#pendingClient?.outbound.close()
    this.early.clear()
    this.#host.budget.release(this.#connectBytes)
    this.#connectBytes = 0
  }

  readonly #onVerdict = (verdict: Verdict): void => this.#peer.onVerdict(verdict)
  readonly #onError = (error: unknown): void => this.#peer.fail(error)

  #handleConnect(frame: Uint8Array): void {
    // A connection that does not start with CONNECT receives no response (MQTT 5.0, section 3.1).
    if ((frame[0] ?? 0) >> 4 !== PACKET.connect) {
      this.#peer.cut()
      return
    }
    this.#version = protocolVersionOf(frame)
    const connect = decodePacket(frame, this.#version, this.#host.accounts.maxUserProperties)
    if (connect.type !== 'connect') return
    this.#host.traffic.connectsReceived++
    this.#pendingClient = pendingClientOf(connect, this.#link, this.#host, this.#peer)
    this.#connectBytes = reserveConnectBytes(frame, this.#host.budget)
    this.#peer.setClientId(clientIdOf(connect))
    this.#pendingClient.authentication.start(this.#onVerdict, this.#onError)
  }

  #defer(frame: Uint8Array): void {
    if (this.early.size + frame.length > LIMIT.deferredBytes)
      throw new PacketError(REASON.quotaExceeded, 'too many packets before the end of authentication')
    this.early.push(frame)
  }
}

/** The charge for a CONNECT per encoded byte, which covers the bytes and the UTF-16 strings decoded from them. */
const CONNECT_COST_FACTOR = 3

export interface PendingClient {
  readonly connect: Connect
  readonly outbound: PacketWriter
  readonly authentication: AuthenticationExchange
}

const pendingClientOf = (
  connect: Connect,
  link: Link,
  host: ConnectionHost<never>,
  peer: Client & PacketWriterPeer,
): PendingClient => ({
  connect,
  outbound: new PacketWriter(link, host, peer, connect),
  authentication: new AuthenticationExchange(host.handler, peer, link, connect),
})

/**
 * Returns the client id, or a generated id if the client id is empty. Throws {@link PacketError} if the id is too long.
 */
function clientIdOf({ clientId }: Connect): string {
  if (clientId.length > LIMIT.clientIdLength)
    throw new PacketError(
      REASON.clientIdentifierNotValid,
      `the client id has more than ${LIMIT.clientIdLength} characters`,
    )
  return clientId === '' ? globalThis.crypto.randomUUID() : clientId
}

/**
 * Reserves memory for the lifetime of a connection with a large CONNECT. Throws {@link PacketError} if memory is
 * exhausted.
 */
function reserveConnectBytes({ length }: Uint8Array, budget: MemoryBudget): number {
  if (length <= LIMIT.freeConnectBytes) return 0
  if (!budget.tryReserve(CONNECT_COST_FACTOR * length))
    throw new PacketError(REASON.quotaExceeded, 'the broker has no memory left for a CONNECT of this size')
  return CONNECT_COST_FACTOR * length
}

const UNSUPPORTED_METHOD = {
  type: 'refused',
  reasonCode: REASON.badAuthenticationMethod,
  reason: 'the authentication method is not supported',
} as const

type Step =
  | { readonly type: 'none' }
  | { readonly type: 'deciding'; readonly abort: AbortController }
  /** The state is opaque and belongs to the handler. */
  | { readonly type: 'challenged'; readonly state: unknown }

/**
 * The authentication of one client. The first step comes with CONNECT, further steps with AUTH (MQTT 5.0, section
 * 4.12). At most one step runs at a time.
 */
export class AuthenticationExchange {
  readonly #handler: BrokerHandler
  readonly #client: Client
  readonly #link: Link
  readonly #connect: Connect
  #step: Step = { type: 'none' }

  constructor(handler: BrokerHandler, client: Client, link: Link, connect: Connect) {
    this.#handler = handler
    this.#client = client
    this.#link = link
    this.#connect = connect
  }

  get isDeciding(): boolean {
    return this.#step.type === 'deciding'
  }

  close(): void {
    if (this.#step.type === 'deciding') this.#step.abort.abort()
  }

  /** Starts the exchange with the credentials in CONNECT. May call `onVerdict` synchronously. */
  start(onVerdict: (verdict: Verdict) => void, onError: (error: unknown) => void): void {
    const { authenticationMethod, authenticationData } = this.#connect
    if (this.#handler.authenticate !== undefined) this.#requestVerdict(authenticationData, onVerdict, onError)
    else onVerdict(authenticationMethod === undefined ? { type: 'accepted' } : UNSUPPORTED_METHOD)
  }

  /** Continues with an AUTH, which may start a reauthentication. Throws `PacketError` if AUTH is not expected. */
  proceed(auth: Auth, onVerdict: (verdict: Verdict) => void, onError: (error: unknown) => void): void {
    const isReauthentication = auth.reasonCode === REASON.reAuthenticate
    if (this.#connect.authenticationMethod === undefined)
      throw protocolError('AUTH requires a CONNECT with an authentication method')
    if (auth.authenticationMethod !== this.#connect.authenticationMethod)
      throw protocolError('AUTH and CONNECT have different authentication methods')
    if (this.#step.type !== (isReauthentication ? 'none' : 'challenged')) throw protocolError('unexpected AUTH')
    this.#requestVerdict(auth.authenticationData, onVerdict, onError)
  }

  #requestVerdict(
    data: Uint8Array | undefined,
    onVerdict: (verdict: Verdict) => void,
    onError: (error: unknown) => void,
  ): void {
    const abort = new AbortController()
    const state = this.#step.type === 'challenged' ? this.#step.state : undefined
    const credentials = { connect: this.#connect, link: this.#link, data, state, signal: abort.signal }
    const verdict = this.#handler.authenticate?.(this.#client, credentials)
    if (verdict === undefined) return
    if (!(verdict instanceof Promise)) {
      this.#applyVerdict(verdict, onVerdict)
      return
    }
    this.#step = { type: 'deciding', abort }
    verdict.then(late => this.#applyVerdict(late, onVerdict)).catch(onError)
  }

  #applyVerdict(verdict: Verdict, onVerdict: (verdict: Verdict) => void): void {
    this.#step = verdict.type === 'continue' ? { type: 'challenged', state: verdict.state } : { type: 'none' }
    onVerdict(verdict)
  }
}

/** The variable fields of CONNACK (MQTT 5.0, section 3.2). */
interface ConnackDetails {
  readonly clientId: string
  readonly sessionPresent: boolean
  readonly authenticationData: Uint8Array | undefined
}

export const keepAliveSecondsOf = ({ keepAlive, version }: Connect, maxSeconds: number): number =>
  // MQTT 3.1.1 has no server keep-alive. A keep-alive of 0 turns the timeout off, which a maximum does not permit.
  version === 4 || maxSeconds === 0 ? keepAlive : keepAlive === 0 ? maxSeconds : Math.min(keepAlive, maxSeconds)

/** Returns one and a half times the keep-alive in ms (MQTT 5.0, section 3.1.2.10). 0 means unlimited. */
export const keepAliveTimeoutMs = (connect: Connect, maxSeconds: number): number =>
  1_500 * keepAliveSecondsOf(connect, maxSeconds)

export function connackOf(
  connect: Connect,
  { clientId, sessionPresent, authenticationData }: ConnackDetails,
  {
    handler,
    maximumPacketSize,
    maxKeepAliveSeconds,
  }: Pick<ConnectionHost<never>, 'handler' | 'maximumPacketSize' | 'maxKeepAliveSeconds'>,
): Connack {
  const { sessionExpiry, authenticationMethod, requestResponseInformation } = connect
  const keepAlive = keepAliveSecondsOf(connect, maxKeepAliveSeconds)
  return {
    type: 'connack',
    sessionPresent,
    reasonCode: REASON.success,
    sessionExpiry: sessionExpiry > LIMIT.sessionExpirySeconds ? LIMIT.sessionExpirySeconds : undefined,
    maximumPacketSize,
    topicAliasMaximum: LIMIT.inboundAliases,
    assignedClientId: connect.clientId === '' ? clientId : undefined,
    serverKeepAlive: keepAlive === connect.keepAlive ? undefined : keepAlive,
    userProperties: handler.connackProperties?.(connect),
    responseInformation: requestResponseInformation ? handler.responseInformation?.(clientId) : undefined,
    authenticationMethod,
    authenticationData,
  }
}

export function protocolVersionOf(frame: Uint8Array): Version {
  const name = contentStart(frame)
  const level = frame[name + 2 + uint16(frame, name)] ?? 0
  return level < 5 ? 4 : 5
}

type DisconnectReason = Pick<Disconnect, 'reasonCode' | 'reasonString' | 'serverReference'>

/** Returns the packet that announces the end of a connection, or `undefined` if the protocol version has none. */
export function disconnectPacketFor(
  version: Version,
  isAdmitted: boolean,
  reason: DisconnectReason,
): ServerPacket | undefined {
  if (isAdmitted) return version === 5 ? { type: 'disconnect', ...reason } : undefined
  return canRefuse(version, reason.reasonCode) ? { type: 'connack', sessionPresent: false, ...reason } : undefined
}

/**
 * Returns whether a CONNACK can carry the reason code. MQTT 3.1.1 has no code for a malformed CONNECT (its section
 * 3.1.4).
 */
const canRefuse = (version: Version, reasonCode: ReasonCode): boolean =>
  version === 5 || (reasonCode !== REASON.malformedPacket && reasonCode !== REASON.protocolError)
