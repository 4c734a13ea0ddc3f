import type { Deadline } from '../../core/util/deadlines.js'
import { ArgumentError, forKey, OutcomeUnknownError, StateStoreError, TimeoutError } from '../../core/util/errors.js'
import type { InboundMessage } from '../session/session.js'

/** An answer. */
export interface RpcReply {
  readonly payload: Uint8Array
  readonly userProperties: InboundMessage['userProperties']
}

/** A request that changes nothing. */
export type RpcInquiry = Pick<RpcRequest, 'payload' | 'userProperties'>

/** A request and where its answer goes; exactly one of the two functions is called, unless it is cancelled. */
export interface RpcRequest {
  /** The key, for messages to people; none when the request is not about one. */
  readonly key: string | undefined
  readonly payload: Uint8Array
  /** ms until the request has failed, wherever it is by then. */
  readonly timeout: number
  /** Whether it may be sent again when the connection broke: reads may, writes may not. */
  readonly repeatable: boolean
  /** What it is about: requests about one thing are answered in the order in which they were sent. */
  readonly subject?: string | undefined
  /**
   * Asks for what it is about. The answer to that comes behind its own, if there is one; of a request that is not repeatable.
   */
  readonly inquiry?: (() => RpcInquiry) | undefined
  /** User properties that all requests have: one object, so that it is encoded once. */
  readonly commonProperties: Readonly<Record<string, string>>
  /** The others. Called when the request is sent, so that a timestamp is that of sending. */
  userProperties(): Record<string, string>
  succeeded(reply: RpcReply): void
  failed(error: StateStoreError): void
}

/** A request that has no answer yet. */
export interface Pending {
  readonly request: RpcRequest
  readonly expiry: number
  /** Until it has its answer. */
  deadline: Deadline<Pending> | undefined
  /** Once it is on the wire: its place among those that are, and its number, which no other had in this place. */
  place: number
  id: number | undefined
  /** On which connection. */
  epoch: number
}

/** Whether it was carried out is not known. */
export const unknown = ({ request }: Pending, why: string): OutcomeUnknownError =>
  new OutcomeUnknownError(why, request.key)

const IS_THERE_A_STORE = 'is a state store running at this broker?'

/** Its time is over. */
export function timedOut(pending: Pending, connection: StateStoreError | undefined): StateStoreError {
  const { request, id } = pending
  const { timeout, key } = request
  if (id === undefined || connection) {
    if (id === undefined || request.repeatable) return new TimeoutError(timeout, key, connection)
    return unknown(pending, `no answer came within ${timeout} ms`)
  }
  // Not all brokers say that nobody listens.
  if (request.repeatable) return new TimeoutError(timeout, key, undefined, IS_THERE_A_STORE)
  return unknown(pending, `no answer came within ${timeout} ms (${IS_THERE_A_STORE})`)
}

/** The broker would not take it. @param size - of its packet, bytes */
export const tooLarge = ({ key }: RpcRequest, size: number, maximum: number): ArgumentError =>
  new ArgumentError(
    `A request${key === undefined ? '' : ` for key ${JSON.stringify(key)}`} with a packet of ${size} bytes is too large: the broker takes packets of at most ${maximum} bytes`,
  )

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    'no-store': true
  }
}

/**
 * The broker is there, but no state store listens to it, so the request changed nothing. A watch goes on, and finds the
 * store when it comes; brokers that do not say so (MQTT 5.0, section 3.4.2.1, 16) leave requests to their timeout.
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
