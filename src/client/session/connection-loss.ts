import type { Packet } from 'mqtt'
import { ConnectionLostError, ConnectionRefusedError, reason } from '../../core/util/errors.js'

/** Why a connection ended, or was not made, as far as anybody said. */
interface Cause {
  readonly error: Error
  /** MQTT 5.0, section 2.4. */
  readonly reasonCode: number | undefined
}

/** The end of a connection, or of an attempt. */
export interface ConnectionLoss {
  readonly error: ConnectionLostError
  readonly reasonCode: number | undefined
  /** Whether the broker had accepted the connection. */
  readonly wasConnected: boolean
  /** Where the broker sends us instead. */
  readonly reference: unknown
  /**
   * Whether the broker is looked for where it was: not if it sent us away or fell silent, for it will be no better there.
   * A connection that broke may well have its session there, and the answers that were on their way.
   */
  readonly stays: boolean
  /** The error if it is of no use to try again. */
  readonly refusal: ConnectionRefusedError
}

/** Gathers what the end of a connection is due to. */
export class LossDetails {
  #cause: Cause | undefined
  /** Whether the broker took this connection. */
  #reached = false
  #reference: unknown

  /** Something that will end the connection. */
  because(error: Error, reasonCode: number | undefined): void {
    this.#cause = { error, reasonCode }
  }

  /** To be called with what the broker sends. */
  received(packet: Packet): void {
    if (packet.cmd === 'connack') this.#reached = packet.reasonCode === 0
    if (packet.cmd === 'connack' || packet.cmd === 'disconnect') this.#reference = packet.properties?.serverReference
  }

  /** What was said before counts no more. */
  connected(): void {
    this.#cause = undefined
    this.#reached = true
  }

  /** What it was; the next connection begins anew. @param url - where it was looked for */
  take(url: string | undefined): ConnectionLoss {
    const cause = this.#cause
    const loss = {
      error: lossOf(cause, this.#reached ? undefined : url),
      reasonCode: cause?.reasonCode,
      wasConnected: this.#reached,
      reference: this.#reference,
      stays: mayBeThere(cause),
      refusal: refusalOf(cause),
    }
    this.#cause = undefined
    this.#reached = false
    this.#reference = undefined
    return loss
  }
}

/** Reasons with which a broker sends us away: it may be a while until it takes us again (MQTT 5.0, section 2.4). */
const SENT_AWAY = new Set([
  3, // server unavailable, before MQTT 5
  136, // server unavailable
  137, // server busy
  139, // server shutting down
  151, // quota exceeded
  156, // use another server
  157, // server moved
  159, // connection rate exceeded
])

/** Ports that are another protocol's by custom, and what to write for that. */
const ODD_PORTS: Readonly<Record<string, string>> = { 'mqtt:8083': 'ws', 'tcp:8083': 'ws', 'ws:1883': 'mqtt' }

const mayBeThere = (cause: Cause | undefined): boolean =>
  cause === undefined || (cause.reasonCode === undefined ? 'code' in cause.error : !SENT_AWAY.has(cause.reasonCode))

/** Unacceptable protocol version, as brokers before MQTT 5 and those of MQTT 5 say it. */
const OLD_PROTOCOL: ReadonlySet<number | undefined> = new Set([1, 132])

function refusalOf(cause: Cause | undefined): ConnectionRefusedError {
  const hint = OLD_PROTOCOL.has(cause?.reasonCode)
    ? ': it speaks MQTT 3.1.1 at most, and a state store needs MQTT 5'
    : ''
  const message = `The broker refused the connection: ${reason(cause?.error)}${hint}`
  return new ConnectionRefusedError(message, cause?.reasonCode, cause && { cause: cause.error })
}

/** The error of a connection that ended, or, with an address, of one that never was. */
function lossOf(cause: Cause | undefined, unreached: string | undefined): ConnectionLostError {
  const options = cause && { cause: cause.error }
  const why = cause && reason(cause.error)
  if (unreached === undefined)
    return new ConnectionLostError(why && `The connection to the broker was lost: ${why}`, options, cause?.reasonCode)
  const words = why?.trim() ?? 'the connection ended before the broker took it'
  return new ConnectionLostError(`Cannot reach ${unreached}: ${words}${hintFor(unreached, words)}`, options)
}

/** What the words of a failed connection mean where another protocol answers; for TCP see `foreign-protocol.ts`. */
const FOREIGN: readonly (readonly [words: RegExp, hint: string])[] = [
  [
    /wrong version number|packet length too long|EPROTO|before secure TLS/,
    'what answers there does not speak TLS: write mqtt:// or ws://',
  ],
  [/^Parse Error/, 'what answers there does not speak HTTP: for MQTT over TCP write mqtt:// or mqtts://'],
  [/connack timeout/, 'something listens there that does not answer as an MQTT broker does'],
]
const NO_MQTT = 'is there an MQTT broker at this address, and does it expect TLS, mqtts://?'
const NO_WEB_SOCKET = 'is there MQTT over WebSocket at this address and path, and is it ws:// or wss://?'

function hintFor(url: string, words: string): string {
  const { protocol, host, port } = new URL(url)
  const usual = ODD_PORTS[protocol + port]
  if (usual !== undefined) return ` (port ${port} is usually one for ${usual}://${host})`
  const [, foreign] = FOREIGN.find(([fits]) => fits.test(words)) ?? []
  if (foreign !== undefined) return ` (${foreign})`
  const isUnclear = /socket hang up|ended before|Unexpected server response/.test(words)
  if (!isUnclear) return ''
  return ` (${protocol.startsWith('ws') ? NO_WEB_SOCKET : NO_MQTT})`
}
