import { Fifo } from '../../core/util/collections.js'
import type { Deadline } from '../../core/util/deadlines.js'
import { ClosedError, OutcomeUnknownError, StateStoreError, TimeoutError } from '../../core/util/errors.js'
import type { AckError, FrameData } from '../wire/frames.js'
import type { OutgoingFrame, RequestOutcome } from './events.js'

export type RequestFrame = OutgoingFrame | { readonly type: 'joinGroup' | 'leaveGroup'; readonly group: string }

export interface OutgoingRequest {
  readonly frame: RequestFrame
  readonly ack: boolean
  readonly timeout: number
  readonly atLeastOnce: boolean
  /** Whether the request is sent before other requests and is exempt from the limit on the queue's size. */
  readonly urgent: boolean
  readonly onSettled: (outcome: RequestOutcome, now: number) => void
}

/** A request and its progress. Only the send queue changes them. */
export interface InFlightRequest {
  readonly outgoing: OutgoingRequest
  readonly data: FrameData
  /**
   * The ack id, or `undefined` without acknowledgement. It identifies the request, because every copy carries the same
   * id.
   */
  readonly ackId: bigint | undefined
  state: 'waiting' | 'sent' | 'pausing' | 'settled'
  fifo: CancellableFifo<InFlightRequest>
  /** The number of sessions lost while a copy was unacknowledged. */
  lostSessions: number
  failures: number
  deadline: Deadline<InFlightRequest> | undefined
  retry: Deadline<InFlightRequest> | undefined
}

const REQUEST_LABELS = { sendToGroup: 'a send to group', joinGroup: 'joining group', leaveGroup: 'leaving group' }

export const describeRequest = (frame: RequestFrame): string =>
  frame.type === 'event'
    ? `the event ${JSON.stringify(frame.event)}`
    : `${REQUEST_LABELS[frame.type]} ${JSON.stringify(frame.group)}`

export const outcomeUnknown = ({ outgoing }: InFlightRequest, why: string): StateStoreError =>
  new OutcomeUnknownError(why, undefined, {
    what: describeRequest(outgoing.frame),
    remedy: 'send it again only if it may arrive twice',
  })

/** Returns `error` if the hub cannot have processed any copy, and an `outcome-unknown` error otherwise. */
export const withoutAckError = (request: InFlightRequest, why: string, error: StateStoreError): StateStoreError =>
  request.state === 'sent' || request.lostSessions > 0 ? outcomeUnknown(request, why) : error

export function timeoutError(request: InFlightRequest): StateStoreError {
  const { timeout } = request.outgoing
  return withoutAckError(request, `no acknowledgement arrived within ${timeout} ms`, new TimeoutError(timeout))
}

export interface Cancellable {
  readonly state: string
}

/**
 * A FIFO queue whose items may be cancelled in any position. An item whose state is no longer `waiting` is skipped.
 * Cancelled items stay in the queue until they outnumber the others, so the queue is at most twice as long as its
 * content.
 */
export class CancellableFifo<T extends Cancellable> {
  #items = new Fifo<T>()
  #cancelledCount = 0

  get length(): number {
    return this.#items.length - this.#cancelledCount
  }

  push(item: T): void {
    this.#items.push(item)
  }

  peek(): T | undefined {
    for (let item = this.#items.peek(); item !== undefined; item = this.#items.peek()) {
      if (item.state === 'waiting') return item
      this.#items.shift()
      this.#cancelledCount--
    }
    return undefined
  }

  shift(): T | undefined {
    for (let item = this.#items.shift(); item !== undefined; item = this.#items.shift()) {
      if (item.state === 'waiting') return item
      this.#cancelledCount--
    }
    return undefined
  }

  onCancelled(): void {
    this.#cancelledCount++
    if (this.#cancelledCount > this.length) this.prepend([])
  }

  prepend(first: readonly T[]): void {
    const items = new Fifo<T>()
    for (const item of first) items.push(item)
    for (let item = this.shift(); item !== undefined; item = this.shift()) items.push(item)
    this.#items = items
  }
}

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    'pubsub-refused': true
  }
}

/**
 * The hub rejected a request, and retrying the request unchanged would not help. `hubError.name` is the reason, such as
 * `Forbidden`. Programs should compare the name, because the text may change. (Web PubSub, "Ack response".)
 *
 * @example
 * ```ts
 * line.send(21).subscribe({
 *   error: e => {
 *     if (e instanceof PubSubRefusedError) report(e.hubError.name)
 *   },
 * })
 * ```
 */
export class PubSubRefusedError extends StateStoreError {
  override readonly name = 'PubSubRefusedError'
  readonly hubError: AckError

  /** @param what - description of the request, such as `a send to group "line-1"` */
  constructor(what: string, hubError: AckError, options?: ErrorOptions) {
    super('pubsub-refused', `The hub refused ${what}: ${hubError.name}, ${hubError.message}`, options)
    this.hubError = hubError
  }
}

/**
 * Returns the error for requests and streams that end with the client, because the caller closed it or it stopped
 * because of `cause`.
 */
export const clientClosedError = (cause: StateStoreError | undefined): ClosedError =>
  cause ? new ClosedError(`The connection was closed permanently: ${cause.message}`, { cause }) : new ClosedError()
