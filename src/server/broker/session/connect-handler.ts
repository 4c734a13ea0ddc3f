import { startOfContent, uint16 } from '../../../core/mqtt5/data-types.js'
import { decodePacket } from '../../../core/mqtt5/decode.js'
import { PacketError, protocolError } from '../../../core/mqtt5/packet-error.js'
import * as PACKET from '../../../core/mqtt5/packet-types.js'
import type { Auth, Connack, Connect, Disconnect, ServerPacket, Version, Will } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import type { ReasonCode } from '../../../core/mqtt5/reason-codes.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import { copyContentIfSparse, sizeOf } from '../routing/delivery.js'
import type { ConnectionHost } from './connection-host.js'
import type { BrokerHandler, Refused, Verdict } from './handler.js'
import type { Link } from './link.js'
import { DeferredPackets } from './packet-handler.js'
import { PacketWriter, type PacketWriterPeer } from './packet-writer.js'

/** The connection of somebody who wants to come in. */
export interface ConnectHandlerPeer extends Client, PacketWriterPeer {
  /** The client has this id. */
  setClientId(clientId: string): void
  /** Cuts the network connection without a word. */
  cut(): void
  /** What is made of the client's credentials. */
  onVerdict(verdict: Verdict): void
  fail(error: unknown): void
}

/** How a client comes in: its CONNECT, its credentials, and what it sends before it is decided whether to let it in. */
export class ConnectHandler {
  readonly #link: Link
  readonly #host: ConnectionHost<never>
  readonly #peer: ConnectHandlerPeer
  /** Packets that came before their sender was let in. */
  readonly early: DeferredPackets
  #version: Version = 5
  #pendingClient: PendingClient | undefined
  /** What CONNECT counts, bytes. */
  #connectBytes = 0

  constructor(link: Link, host: ConnectionHost<never>, peer: ConnectHandlerPeer) {
    this.#link = link
    this.#host = host
    this.#peer = peer
    this.early = new DeferredPackets(host.budget)
  }

  /** As CONNECT says, and 5 before that. */
  get version(): Version {
    return this.#version
  }

  /** Who is there; `undefined` before CONNECT. */
  get pendingClient(): PendingClient | undefined {
    return this.#pendingClient
  }

  /** What its CONNECT counts, and packets that wait, bytes. */
  get heldBytes(): number {
    return this.#connectBytes + this.early.size
  }

  /** Takes a packet of somebody who is not let in. Raises {@link PacketError} for what ends the connection. */
  receive(frame: Uint8Array): void {
    const client = this.#pendingClient
    if (client === undefined) this.#handleConnect(frame)
    else if (client.authentication.isDeciding) this.#defer(frame)
    else {
      const packet = decodePacket(frame, client.connect.version, this.#host.accounts.maxUserProperties)
      if (packet.type !== 'auth') throw protocolError('AUTH is awaited')
      this.authenticate(packet)
    }
  }

  /** Takes a step of enhanced authentication. */
  authenticate(packet: Auth): void {
    this.#pendingClient?.authentication.proceed(packet, this.#onVerdict, this.#onError)
  }

  /** The connection is gone. */
  close(): void {
    this.#pendingClient?.authentication.close()
    this.early.clear()
    this.#host.budget.release(this.#connectBytes)
    this.#connectBytes = 0
  }

  readonly #onVerdict = (verdict: Verdict): void => this.#peer.onVerdict(verdict)
  readonly #onError = (error: unknown): void => this.#peer.fail(error)

  #handleConnect(frame: Uint8Array): void {
    // A client that does not begin with CONNECT gets no answer (MQTT 5.0, section 3.1).
    if ((frame[0] ?? 0) >> 4 !== PACKET.connect) {
      this.#peer.cut()
      return
    }
    this.#version = protocolVersionOf(frame)
    const connect = decodePacket(frame, this.#version, this.#host.accounts.maxUserProperties)
    if (connect.type !== 'connect') return
    this.#pendingClient = pendingClientOf(connect, this.#link, this.#host, this.#peer)
    this.#connectBytes = reserveConnectBytes(frame, this.#host.budget)
    this.#peer.setClientId(clientIdOf(connect))
    this.#pendingClient.authentication.start(this.#onVerdict, this.#onError)
  }

  #defer(frame: Uint8Array): void {
    if (this.early.size + frame.length > LIMIT.deferredBytes)
      throw new PacketError(REASON.quotaExceeded, 'too much before the client is let in')
    this.early.push(frame)
  }
}

const NO_PROPERTIES = {}
/** A CONNECT has its bytes, and the texts that were made of them. */
const CONNECT_COST_FACTOR = 3

/** Somebody who said CONNECT, and is or is not let in. */
export interface PendingClient {
  readonly connect: Connect
  readonly outbound: PacketWriter
  readonly authentication: AuthenticationExchange
}

/** A guest who wants to be spoken to as its CONNECT says. */
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

/** The id of a client, made up if it has none. Raises {@link PacketError} when it is too long. */
function clientIdOf({ clientId }: Connect): string {
  if (clientId.length > LIMIT.clientIdLength)
    throw new PacketError(REASON.clientIdentifierNotValid, `a client id has at most ${LIMIT.clientIdLength} characters`)
  return clientId === '' ? globalThis.crypto.randomUUID() : clientId
}

/**
 * The last will of a client, to be kept for as long as it is connected, and longer. Raises {@link PacketError} when it must
 * not be published, or there is no room for it.
 */
export function reserveWill(
  { will }: Connect,
  client: Client,
  { handler, budget }: ConnectionHost<never>,
): Will | undefined {
  if (will === undefined) return undefined
  const refusal = handler.checkPublish(client, will)
  if (refusal) throw new PacketError(refusal.disconnect ?? REASON.notAuthorized, `the last will: ${refusal.reason}`)
  if (!budget.tryReserve(willSize(will)))
    throw new PacketError(REASON.quotaExceeded, 'there is no room for a last will')
  const { payload, correlationData, carried } = copyContentIfSparse({ ...will, userProperties: NO_PROPERTIES })
  return { ...will, payload, correlationData, carried: carried ?? will.carried }
}

/** What a last will counts, bytes: its user properties are there as texts as well. */
export const willSize = ({ topic, payload, carried }: Will): number =>
  sizeOf({ topic, content: { payload, carried } }) + 2 * carried.length

/**
 * What a CONNECT counts for as long as its connection lasts, as much may be said in it, bytes. Raises {@link PacketError}
 * when there is no room.
 */
function reserveConnectBytes({ length }: Uint8Array, budget: BrokerMemoryBudget): number {
  if (length <= LIMIT.freeConnectBytes) return 0
  if (!budget.tryReserve(CONNECT_COST_FACTOR * length))
    throw new PacketError(REASON.quotaExceeded, 'the broker has no room for a CONNECT of this size')
  return CONNECT_COST_FACTOR * length
}

const NO_METHOD = {
  type: 'refused',
  reasonCode: REASON.badAuthenticationMethod,
  reason: 'there is no such authentication method',
} as const

/** What is under way: nothing, a verdict that is awaited, or a further step of the client. */
type Step =
  | { readonly type: 'none' }
  | { readonly type: 'deciding'; readonly abort: AbortController }
  /** `state` is the handler's. */
  | { readonly type: 'asked'; readonly state: unknown }

/**
 * The steps in which one client proves who it is: one with CONNECT, more with AUTH (MQTT 5.0, section 4.12), and again
 * whenever it likes. One step is under way at a time.
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

  /** Whether a verdict is awaited. */
  get isDeciding(): boolean {
    return this.#step.type === 'deciding'
  }

  /** The client is gone. */
  close(): void {
    if (this.#step.type === 'deciding') this.#step.abort.abort()
  }

  /** The first step. `decided` may be called at once. */
  start(onVerdict: (verdict: Verdict) => void, onError: (error: unknown) => void): void {
    const { authenticationMethod, authenticationData } = this.#connect
    if (this.#handler.authenticate !== undefined) this.#requestVerdict(authenticationData, onVerdict, onError)
    else onVerdict(authenticationMethod === undefined ? { type: 'accepted' } : NO_METHOD)
  }

  /** A further step, or the first of another proof. Raises `PacketError` when the client may not take it. */
  proceed(auth: Auth, onVerdict: (verdict: Verdict) => void, onError: (error: unknown) => void): void {
    const isReauthentication = auth.reasonCode === REASON.reAuthenticate
    if (this.#connect.authenticationMethod === undefined) throw protocolError('AUTH without an authentication method')
    if (auth.authenticationMethod !== this.#connect.authenticationMethod)
      throw protocolError('AUTH with another authentication method than CONNECT')
    if (this.#step.type !== (isReauthentication ? 'none' : 'asked')) throw protocolError('AUTH that was not asked for')
    this.#requestVerdict(auth.authenticationData, onVerdict, onError)
  }

  #requestVerdict(
    data: Uint8Array | undefined,
    onVerdict: (verdict: Verdict) => void,
    onError: (error: unknown) => void,
  ): void {
    const abort = new AbortController()
    const state = this.#step.type === 'asked' ? this.#step.state : undefined
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
    this.#step = verdict.type === 'continue' ? { type: 'asked', state: verdict.state } : { type: 'none' }
    onVerdict(verdict)
  }
}

/** What a client is told that is let in (MQTT 5.0, section 3.2). */
interface ConnackDetails {
  readonly clientId: string
  readonly sessionPresent: boolean
  /** Last step of enhanced authentication. */
  readonly authenticationData: Uint8Array | undefined
}

/** The keep-alive of a client, s: what it asked for, or the longest there is. */
export const keepAliveSecondsOf = ({ keepAlive, version }: Connect, maxSeconds: number): number =>
  // MQTT 3.1.1 cannot be told of another one; 0 turns it off, which only a longest one forbids.
  version === 4 || maxSeconds === 0 ? keepAlive : keepAlive === 0 ? maxSeconds : Math.min(keepAlive, maxSeconds)

/** How long a client may be silent, ms: one and a half times its keep-alive (MQTT 5.0, section 3.1.2.10); 0 for ever. */
export const keepAliveTimeoutMs = (connect: Connect, maxSeconds: number): number =>
  1_500 * keepAliveSecondsOf(connect, maxSeconds)

/** CONNACK for a client that is let in. */
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
    responseInformation: requestResponseInformation ? handler.responseInformation?.(clientId) : undefined,
    authenticationMethod,
    authenticationData,
  }
}

/** The version a CONNECT is of, as far as an answer to it is concerned. */
export function protocolVersionOf(frame: Uint8Array): Version {
  const name = startOfContent(frame)
  const level = frame[name + 2 + uint16(frame, name)] ?? 0
  return level < 5 ? 4 : 5
}

/** Why a connection ends. */
type DisconnectReason = Pick<Disconnect, 'reasonCode' | 'reasonString' | 'serverReference'>

/**
 * What a client is told whose connection is ended; `undefined` when there is no word for it.
 *
 * @param isAdmitted - whether it was let in
 */
export function disconnectPacketFor(
  version: Version,
  isAdmitted: boolean,
  reason: DisconnectReason,
): ServerPacket | undefined {
  if (isAdmitted) return version === 5 ? { type: 'disconnect', ...reason } : undefined
  return canRefuse(version, reason.reasonCode) ? { type: 'connack', sessionPresent: false, ...reason } : undefined
}

/** Whether a client is told why it is not let in: MQTT 3.1.1 has no word for a CONNECT that makes no sense (its 3.1.4). */
const canRefuse = (version: Version, reasonCode: ReasonCode): boolean =>
  version === 5 || (reasonCode !== REASON.malformedPacket && reasonCode !== REASON.protocolError)

const DISCONNECT_CODES: ReadonlySet<number> = new Set([
  REASON.notAuthorized,
  REASON.useAnotherServer,
  REASON.serverMoved,
])

/** With what somebody is turned away who was let in before: DISCONNECT has fewer codes (MQTT 5.0, section 3.14.2.1). */
export const disconnectCode = ({ reasonCode }: Refused): ReasonCode =>
  DISCONNECT_CODES.has(reasonCode) ? reasonCode : REASON.notAuthorized
