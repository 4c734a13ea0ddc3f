import type { Deadline } from '../../core/util/deadlines.js'
import {
  ArgumentError,
  ConnectionLostError,
  forKey,
  notConnected,
  OutcomeUnknownError,
  reason,
  StateStoreError,
  TimeoutError,
} from '../../core/util/errors.js'
import type { InboundMessage } from '../session/session.js'

export interface RpcResponse {
  readonly payload: Uint8Array
  readonly userProperties: InboundMessage['userProperties']
}

/** A request without side effects. */
export type RpcInquiry = Pick<RpcRequest, 'payload' | 'userProperties'>

/** A request and its callbacks, exactly one of which is called unless the request is cancelled. */
export interface RpcRequest {
  /** Key for error messages; undefined for requests without a single key. */
  readonly key: string | undefined
  readonly payload: Uint8Array
  /** Timeout, including the time in the queue, ms. */
  readonly timeout: number
  /** Whether the request may be sent again after a lost connection, as reads may and writes must not. */
  readonly isRepeatable: boolean
  /**
   * Whether the request fails with `connection-lost` instead of waiting for another connection. Has no effect once the
   * request is sent.
   */
  readonly isBoundToConnection?: boolean | undefined
  /** Requests for the same subject get their responses in the order of sending. */
  readonly subject?: string | undefined
  /**
   * Creates a further request for the same subject, whose response follows any response to this request. For requests
   * that are not repeatable.
   */
  readonly inquiry?: (() => RpcInquiry) | undefined
  /** User properties that all requests share as one object, which is encoded once. */
  readonly commonProperties: Readonly<Record<string, string>>
  /** Returns further user properties when the request is sent, so that timestamps are current. */
  userProperties(): Record<string, string>
  /** Called when the request leaves the queue, after which it cannot be recalled. */
  sent?: (() => void) | undefined
  succeeded(reply: RpcResponse): void
  failed(error: StateStoreError): void
}

export interface PendingRequest {
  readonly request: RpcRequest
  readonly expiresAt: number
  /** Set until the request completes. */
  deadline: Deadline<PendingRequest> | undefined
  /** Set when the request is cancelled after it was sent. */
  expiry?: Deadline<PendingRequest>
  /** Set when the request is sent: its slot among the sent requests, and a unique number. */
  slot: number
  id: number | undefined
  epoch: number
  /** The number of the connection on which a response is outstanding; -1 if there is none. */
  connectionNumber: number
  /** Whether the broker has acknowledged the message on this connection. */
  isAcknowledged: boolean
}

export const outcomeUnknown = ({ request }: PendingRequest, why: string): OutcomeUnknownError =>
  new OutcomeUnknownError(why, request.key)

const IS_THERE_A_STORE = 'is a state store running at this broker?'
const IS_IT_REACHABLE = 'the broker did not acknowledge the request: is the network cut?'

export const notSentError = ({ key }: RpcRequest, cause: StateStoreError | undefined): ConnectionLostError =>
  new ConnectionLostError(`The connection was lost before the request${forKey(key)} was sent`, cause && { cause })

/** Returns the error of a sent request. @param connection - why the client is not connected */
export function unansweredError(pending: PendingRequest, connection: StateStoreError | undefined): StateStoreError {
  const { request, isAcknowledged } = pending
  const { timeout, key, isRepeatable } = request
  // Not all brokers report missing subscribers. An unacknowledged request says nothing about the store.
  const question = isAcknowledged ? IS_THERE_A_STORE : IS_IT_REACHABLE
  const why = connection ? notConnected(connection) : question
  if (isRepeatable) return new TimeoutError(timeout, key, connection, why)
  return outcomeUnknown(pending, `no response within ${timeout} ms (${why})`)
}

export const noRoom = (limit: number): string =>
  `earlier requests await acknowledgement, and the broker accepts ${limit}`

export const NO_RESPONSES = 'hundreds of earlier requests await their responses'

export function neverConnected(url = 'the broker', cause?: StateStoreError): string {
  const last = cause ? `; last error: ${cause.message}` : ''
  return `the client has not connected to ${url} yet: check the address, the network and the credentials${last}`
}

export const tooLargeError = ({ key }: RpcRequest, size: number, maximum: number): ArgumentError =>
  new ArgumentError(
    `A request${key === undefined ? '' : ` for key ${JSON.stringify(key)}`} with a packet of ${size} bytes is too large: the broker accepts at most ${maximum} bytes`,
  )

export const notEncodableError = ({ key }: RpcRequest, cause: unknown): ArgumentError =>
  new ArgumentError(`The request${forKey(key)} cannot be encoded: ${reason(cause)}`, { cause })

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    'no-store': true
  }
}

/**
 * The broker is reachable, but no state store is subscribed to requests, so the request had no effect. Watches continue
 * and find the store once it starts. Brokers that do not report missing subscribers (MQTT 5.0, section 3.4.2.1, reason
 * code 16) let requests run into their timeout.
 */
export class NoStoreError extends StateStoreError {
  override readonly name = 'NoStoreError'
  readonly key: string | undefined

  constructor(key?: string) {
    super(
      'no-store',
      `No state store listens at this broker${forKey(key)}: start one, or connect to a broker that has one`,
    )
    this.key = key
  }
}
