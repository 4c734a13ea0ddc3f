import { Fifo } from '../../core/util/collections.js'
import type { Deadline } from '../../core/util/deadlines.js'
import { ClosedError, OutcomeUnknownError, StateStoreError, TimeoutError } from '../../core/util/errors.js'
import type { AckError, FrameData } from '../wire/frames.js'
import type { OutgoingFrame, RequestOutcome } from './events.js'

/** Anything that the hub may be asked to acknowledge. */
export type Request = OutgoingFrame | { readonly type: 'joinGroup' | 'leaveGroup'; readonly group: string }

/** What to send, and whom to tell how it ended. */
export interface Draft {
  readonly frame: Request
  /** Whether the hub is to answer. */
  readonly ack: boolean
  /** ms until it has failed. */
  readonly timeout: number
  /** Send it again in another session when its fate in this one is unknown. */
  readonly atLeastOnce: boolean
  /** Goes before all that is not, and beyond the limit of the queue. */
  readonly urgent: boolean
  readonly settled: (outcome: RequestOutcome, now: number) => void
}

/** A request under way and what is known of it. Changed by the send queue alone. */
export interface InFlightRequest {
  readonly draft: Draft
  readonly data: FrameData
  /** Missing when the hub is not to answer. It names the request: every copy carries the same. */
  readonly ackId: bigint | undefined
  state: 'waiting' | 'sent' | 'pausing' | 'over'
  /** Where it waits. */
  fifo: CancellableFifo<InFlightRequest>
  /** How many sessions were lost while a copy was on the wire. */
  losses: number
  /** How often the hub answered `InternalServerError`. */
  failures: number
  /** When it has failed. */
  deadline: Deadline<InFlightRequest> | undefined
  /** When its pause is over. */
  retry: Deadline<InFlightRequest> | undefined
}

const TITLES = { sendToGroup: 'a send to group', joinGroup: 'joining group', leaveGroup: 'leaving group' }

/** For people: what was asked. */
export const described = (frame: Request): string =>
  frame.type === 'event'
    ? `the event ${JSON.stringify(frame.event)}`
    : `${TITLES[frame.type]} ${JSON.stringify(frame.group)}`

/** The fate of a copy cannot be found out. */
export const unknownFate = ({ draft }: InFlightRequest, why: string): StateStoreError =>
  new OutcomeUnknownError(why, undefined, {
    what: described(draft.frame),
    remedy: 'send it again only if it may arrive twice',
  })

/** The error of a request that gets no answer: `error` if no copy of it can have been processed. */
export const unanswered = (posting: InFlightRequest, why: string, error: StateStoreError): StateStoreError =>
  posting.state === 'sent' || posting.losses > 0 ? unknownFate(posting, why) : error

/** The error of a request whose time is over. */
export function timedOut(posting: InFlightRequest): StateStoreError {
  const { timeout } = posting.draft
  return unanswered(posting, `no acknowledgement came within ${timeout} ms`, new TimeoutError(timeout))
}

/** Something that may stop waiting in the middle of a queue. */
export interface Waiting {
  readonly state: string
}

/**
 * First in, first out, for items that may stop waiting before their turn: those whose state is not `waiting` any more are
 * skipped. They keep their places until there are many of them, so that the queue is never longer than twice what waits
 * in it.
 */
export class CancellableFifo<T extends Waiting> {
  #items = new Fifo<T>()
  #ceased = 0

  /** How many wait. */
  get length(): number {
    return this.#items.length - this.#ceased
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** The first one that still waits, which stays. */
  peek(): T | undefined {
    for (let item = this.#items.peek(); item !== undefined; item = this.#items.peek()) {
      if (item.state === 'waiting') return item
      this.#items.shift()
      this.#ceased--
    }
    return undefined
  }

  /** Takes the first one that still waits. */
  shift(): T | undefined {
    for (let item = this.#items.shift(); item !== undefined; item = this.#items.shift()) {
      if (item.state === 'waiting') return item
      this.#ceased--
    }
    return undefined
  }

  /** One of the items has ceased to wait. */
  ceased(): void {
    this.#ceased++
    if (this.#ceased > this.length) this.prepend([])
  }

  /** Puts items before all others. */
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
 * The hub did not do what it was asked, and trying again as it is would not help: `hubError.name` says why, such as
 * `Forbidden`. Branch on the name, for the text may change. (Web PubSub, "Ack response".)
 *
 * @example
 * ```ts
 * line.send(21).subscribe({ error: e => { if (e instanceof PubSubRefusedError) report(e.hubError.name) } })
 * ```
 */
export class PubSubRefusedError extends StateStoreError {
  override readonly name = 'PubSubRefusedError'
  readonly hubError: AckError

  /** @param what - what was asked, such as `a send to group "line-1"` */
  constructor(what: string, hubError: AckError, options?: ErrorOptions) {
    super('pubsub-refused', `The hub refused ${what}: ${hubError.name}, ${hubError.message}`, options)
    this.hubError = hubError
  }
}

/** What ends with a client fails with it: closed by its user, or for good because of `cause`. */
export const closedBy = (cause: StateStoreError | undefined): ClosedError =>
  cause ? new ClosedError(`The connection was closed for good: ${cause.message}`, { cause }) : new ClosedError()
