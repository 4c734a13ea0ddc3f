import type { Packet } from 'mqtt'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { ConnectionLostError, ConnectionRefusedError, reason, StateStoreError } from '../../core/util/errors.js'

interface Cause {
  readonly error: Error
  /** The reason code (MQTT 5.0, section 2.4). */
  readonly reasonCode: number | undefined
  readonly isOfStream?: boolean
}

export interface ConnectionLoss {
  readonly error: ConnectionLostError
  readonly reasonCode: number | undefined
  readonly wasConnected: boolean
  /** The unvalidated server reference of the broker. */
  readonly serverReference: unknown
  /**
   * Whether to retry the same address. False after an unavailable or silent broker; after a dropped connection, the
   * session and pending responses may still be there.
   */
  readonly shouldRetrySameAddress: boolean
  /** Whether a packet of either side ended the connection, so that the next connection may end in the same way. */
  readonly isRejection: boolean
  readonly refusal: ConnectionRefusedError
}

/** The maximum length of the broker's explanation in an error message. */
const MAX_REASON_LENGTH = 200

/** Collects the cause of a connection's end. */
export class LossDetails {
  #cause: Cause | undefined
  #wasAccepted = false
  #serverReference: unknown
  /** The broker's explanation, in parentheses. */
  #detail = ''

  setCause(error: Error, reasonCode: number | undefined): void {
    this.#cause = { error, reasonCode }
  }

  /** Keeps a cause that is already known. Pages do not learn why a WebSocket failed. */
  streamFailed(error: Error): void {
    if (!('event' in error)) this.#cause ??= { error, reasonCode: undefined, isOfStream: true }
  }

  received(packet: Packet): void {
    if (packet.cmd === 'connack') this.#wasAccepted = packet.reasonCode === 0
    if (packet.cmd !== 'connack' && packet.cmd !== 'disconnect') return
    const { serverReference, reasonString } = packet.properties ?? {}
    this.#serverReference = serverReference
    this.#detail = reasonString ? ` (${reasonString.slice(0, MAX_REASON_LENGTH)})` : ''
  }

  connected(): void {
    this.#cause = undefined
    this.#wasAccepted = true
    this.#detail = ''
  }

  /** Returns the loss and resets the details. @param url - address of the attempt */
  takeLoss(url: string | undefined, clientId: string): ConnectionLoss {
    const cause = this.#cause
    const why = cause && reason(cause.error) + this.#detail
    const loss = {
      error: lossError(cause, why, this.#wasAccepted ? undefined : url),
      reasonCode: cause?.reasonCode,
      wasConnected: this.#wasAccepted,
      serverReference: this.#serverReference,
      shouldRetrySameAddress: mayHaveSession(cause),
      isRejection: isRejection(cause),
      refusal: refusalError(cause, why, clientId),
    }
    this.#cause = undefined
    this.#wasAccepted = false
    this.#serverReference = undefined
    this.#detail = ''
    return loss
  }
}

/** Reason codes of a temporarily unavailable broker (MQTT 5.0, section 2.4). */
const UNAVAILABLE_REASONS = new Set<number>([
  3, // server unavailable, before MQTT 5
  REASON.serverUnavailable,
  REASON.serverBusy,
  REASON.serverShuttingDown,
  REASON.quotaExceeded,
  REASON.useAnotherServer,
  REASON.serverMoved,
  REASON.connectionRateExceeded,
])

/** The scheme that conventionally uses a port, by the scheme and port that were given. */
const USUAL_SCHEMES: Readonly<Record<string, string>> = { 'mqtt:8083': 'ws', 'tcp:8083': 'ws', 'ws:1883': 'mqtt' }

const mayHaveSession = (cause: Cause | undefined): boolean =>
  cause === undefined ||
  (cause.reasonCode === undefined
    ? cause.isOfStream === true || 'code' in cause.error
    : !UNAVAILABLE_REASONS.has(cause.reasonCode))

function isRejection(cause: Cause | undefined): boolean {
  if (cause?.reasonCode !== undefined) return !UNAVAILABLE_REASONS.has(cause.reasonCode)
  return cause?.error instanceof StateStoreError
}

/** Unsupported protocol version: the reason codes of MQTT 3.1.1 and MQTT 5. */
const UNSUPPORTED_VERSION_REASONS: ReadonlySet<number | undefined> = new Set([1, REASON.unsupportedProtocolVersion])

function refusalError(cause: Cause | undefined, why: string | undefined, clientId: string): ConnectionRefusedError {
  const hint = UNSUPPORTED_VERSION_REASONS.has(cause?.reasonCode)
    ? ': it supports at most MQTT 3.1.1, and a state store needs MQTT 5'
    : ''
  const text = why?.replace(/^Connection refused: /, '')
  const message = `The broker refused the connection of client ${JSON.stringify(clientId)}: ${text}${hint}`
  return new ConnectionRefusedError(message, cause?.reasonCode, cause && { cause: cause.error })
}

function lossError(
  cause: Cause | undefined,
  why: string | undefined,
  unreached: string | undefined,
): ConnectionLostError {
  const options = cause && { cause: cause.error }
  if (unreached === undefined)
    return new ConnectionLostError(why && `The connection to the broker was lost: ${why}`, options, cause?.reasonCode)
  const text = why?.trim() ?? 'the connection ended before the broker accepted it'
  const message = `Cannot reach ${unreached}: ${text}${hintFor(unreached, text)}`
  return new ConnectionLostError(message, options, cause?.reasonCode)
}

/**
 * Socket errors that indicate another protocol. `inbox.ts` recognises other protocols by their first bytes over TCP.
 */
const PROTOCOL_HINTS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [
    /wrong version number|packet length too long|EPROTO|before secure TLS/,
    'the server does not speak TLS: use mqtt:// or ws://',
  ],
  [/^Parse Error/, 'the server does not speak HTTP: for MQTT over TCP use mqtt:// or mqtts://'],
  [/response: 40[137]/, 'a proxy or web server denies access'],
  [/response: 5/, 'a proxy or web server is unavailable'],
  [/connack timeout/, 'the server does not respond like an MQTT broker'],
]
const NO_MQTT_HINT = 'is this the address of an MQTT broker, and does it expect TLS, mqtts://?'
const NO_WEB_SOCKET_HINT = 'does this address and path serve MQTT over WebSocket, and is it ws:// or wss://?'

function hintFor(url: string, text: string): string {
  const { protocol, host, port } = new URL(url)
  const usual = USUAL_SCHEMES[protocol + port]
  if (usual !== undefined) return ` (port ${port} is usually for ${usual}://${host})`
  const [, hint] = PROTOCOL_HINTS.find(([pattern]) => pattern.test(text)) ?? []
  if (hint !== undefined) return ` (${hint})`
  const isUnclear = /socket hang up|ended before|Unexpected server response/.test(text)
  if (!isUnclear) return ''
  return ` (${protocol.startsWith('ws') ? NO_WEB_SOCKET_HINT : NO_MQTT_HINT})`
}
