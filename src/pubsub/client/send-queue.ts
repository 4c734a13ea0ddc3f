import { utf8 } from '../../core/util/bytes.js'
import { DeadlineQueue } from '../../core/util/deadlines.js'
import { ArgumentError, type ClosedError, OverflowError, reason, StateStoreError } from '../../core/util/errors.js'
import type { AckError, FrameData } from '../wire/frames.js'
import { isNestedWithin, MAXIMUM_NESTING, toJson } from '../wire/json.js'
import type { MachineSettings } from './events.js'
import {
  CancellableFifo,
  type Draft,
  described,
  type InFlightRequest,
  PubSubRefusedError,
  timedOut,
  unanswered,
  unknownFate,
} from './in-flight-request.js'

/** A hub ends the session of a client that sends a frame larger than 1 MiB. */
const LONGEST_FRAME = 1024 * 1024
/** A hub remembers about 1,000 ids; below that, it recognises every copy. */
const MOST_UNDER_WAY = 500
/** Joins and leaves may exceed the limit by this many, so that unacknowledged messages do not block them. */
const MOST_URGENT = 100
/** Limit of all held data, bytes or characters. */
const MOST_HELD = 64 * 1024 * 1024
/** A message in flight during this many session losses may be their cause. */
const MOST_LOSSES = 3
/** Messages wait while the socket buffers this many bytes. WebSocket has no drain event, so it is polled, ms. */
const MOST_BACKLOG = 1024 * 1024
const BACKLOG_POLL = 20

/**
 * Queued and unacknowledged requests. A request keeps its id: a copy sent after a recovery carries the same one, so
 * that the hub recognises duplicates ("Publisher"). Pure; times in ms.
 */
export class SendQueue {
  readonly #settings: MachineSettings
  readonly #transmit: (data: FrameData) => void
  readonly #urgent = new CancellableFifo<InFlightRequest>()
  /** Requests to resend after `InternalServerError`. */
  readonly #again = new CancellableFifo<InFlightRequest>()
  readonly #line = new CancellableFifo<InFlightRequest>()
  /** Unacknowledged, in the order sent. */
  readonly #sent = new Map<bigint, InFlightRequest>()
  readonly #deadlines = new DeadlineQueue<InFlightRequest>()
  readonly #retries = new DeadlineQueue<InFlightRequest>()
  #lastId = 0n
  /** Requests that count towards the limit. */
  #held = 0
  #heldBytes = 0
  #urgentSent = 0
  #live = false
  #pollAt = Number.POSITIVE_INFINITY

  constructor(settings: MachineSettings, transmit: (data: FrameData) => void) {
    this.#settings = settings
    this.#transmit = transmit
  }

  /** When {@link tick} should run next. */
  get deadline(): number {
    return Math.min(this.#deadlines.earliest, this.#retries.earliest, this.#pollAt)
  }

  /**
   * Returns an id for a request that bypasses the queue. There are too few of these to displace ids that the hub
   * remembers.
   */
  takeId(): bigint {
    return ++this.#lastId
  }

  /** Queues a request. If it cannot be sent, settles it immediately. */
  post(draft: Draft, now: number): InFlightRequest | undefined {
    const ackId = draft.ack ? this.takeId() : undefined
    const data = this.#admit(draft, ackId)
    if (data instanceof StateStoreError) {
      draft.settled({ ok: false, error: data }, now)
      return undefined
    }
    const fifo = draft.urgent ? this.#urgent : this.#line
    const posting: InFlightRequest = { draft, data, ackId, fifo, state: 'waiting', losses: 0, failures: 0, ...NO_TIMES }
    posting.deadline = this.#deadlines.add(now + draft.timeout, posting)
    this.#hold(posting, 1)
    fifo.push(posting)
    this.#flush(now)
    return posting
  }

  /** Cancels a request: it is not sent, or not resent. */
  forget(posting: InFlightRequest): void {
    if (posting.state === 'over') return
    if (posting.state === 'waiting') posting.fifo.ceased()
    posting.state = 'over'
    this.#hold(posting, -1)
    if (posting.deadline) this.#deadlines.remove(posting.deadline)
    if (posting.retry) this.#retries.remove(posting.retry)
    this.#unsent(posting)
  }

  /**
   * Handles an acknowledgement; unknown ids are ignored. `Duplicate` is success: an earlier copy was processed
   * ("Publisher").
   */
  acknowledged(ackId: bigint, success: boolean, error: AckError | undefined, now: number): void {
    const posting = this.#sent.get(ackId)
    if (posting === undefined) return
    const { name = '', message = '' } = error ?? {}
    if (success || name === 'Duplicate') this.#succeed(posting, !success, now)
    else if (name === 'InternalServerError' && posting.failures < this.#settings.retries) this.#pause(posting, now)
    else this.#fail(posting, new PubSubRefusedError(described(posting.draft.frame), { name, message }), now)
    this.#flush(now)
  }

  tick(now: number): void {
    for (let due = this.#retries.takeDue(now); due !== undefined; due = this.#retries.takeDue(now)) {
      due.state = 'waiting'
      due.fifo = due.draft.urgent ? this.#urgent : this.#again
      due.fifo.push(due)
    }
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      this.#fail(due, timedOut(due), now)
    }
    this.#flush(now)
  }

  /** Called when the hub accepts frames. In a recovered session, unacknowledged requests are resent. */
  resume(now: number): void {
    this.#live = true
    for (const posting of this.#sent.values()) this.#transmit(posting.data)
    this.#flush(now)
  }

  suspend(): void {
    this.#live = false
    this.#pollAt = Number.POSITIVE_INFINITY
  }

  /** The hub's record of ids ended with the session, so the outcome of sent requests is unknown. */
  sessionLost(now: number): void {
    const again: InFlightRequest[] = []
    for (const posting of Array.from(this.#sent.values())) {
      posting.losses++
      if (posting.draft.atLeastOnce && posting.losses < MOST_LOSSES) again.push(posting)
      else this.#fail(posting, unknownFate(posting, lossOf(posting)), now)
    }
    this.#sent.clear()
    for (const posting of again) {
      posting.state = 'waiting'
      posting.fifo = this.#line
    }
    this.#line.prepend(again)
  }

  /** Fails all requests: with `error` if they cannot have been processed, with `outcome-unknown` otherwise. */
  close(error: ClosedError, now: number): void {
    this.suspend()
    const never = Number.POSITIVE_INFINITY
    for (let next = this.#deadlines.takeDue(never); next !== undefined; next = this.#deadlines.takeDue(never)) {
      this.#fail(next, unanswered(next, 'the client was closed before its acknowledgement came', error), now)
    }
  }

  /** Encodes a request, or returns why it cannot be sent. */
  #admit({ frame, urgent }: Draft, ackId: bigint | undefined): FrameData | StateStoreError {
    const { codec, maxQueued } = this.#settings
    if (this.#held >= maxQueued && !urgent) return new OverflowError('The queue of messages', maxQueued)
    try {
      const data = codec.encode(ackId === undefined ? frame : { ...frame, ackId }, toSentJson)
      if (!urgent && this.#heldBytes + data.length > MOST_HELD) {
        return new OverflowError('The queue of messages, in bytes', MOST_HELD)
      }
      if (!isTooLong(data)) return data
      return new ArgumentError(`Expected at most ${LONGEST_FRAME} bytes in ${described(frame)}, got more`)
    } catch (cause) {
      return new ArgumentError(`Cannot encode ${described(frame)}: ${reason(cause)}`, { cause })
    }
  }

  #flush(now: number): void {
    if (!this.#live) return
    this.#pollAt = Number.POSITIVE_INFINITY
    for (let fifo = this.#next(); fifo !== undefined; fifo = this.#next()) {
      if (this.#settings.backlog() > MOST_BACKLOG) {
        this.#pollAt = now + BACKLOG_POLL
        return
      }
      const next = fifo.shift()
      if (next) this.#send(next, now)
    }
  }

  /** Returns the queue to send from. A message without an id needs no slot, but does not overtake others. */
  #next(): CancellableFifo<InFlightRequest> | undefined {
    const isRoom = this.#sent.size < MOST_UNDER_WAY
    if (this.#urgent.length > 0) return isRoom || this.#urgentSent < MOST_URGENT ? this.#urgent : undefined
    if (isRoom && this.#again.length > 0) return this.#again
    const first = this.#line.peek()
    return first && (isRoom || first.ackId === undefined) ? this.#line : undefined
  }

  #hold({ draft, data }: InFlightRequest, count: 1 | -1): void {
    if (draft.urgent) return
    this.#held += count
    this.#heldBytes += count * data.length
  }

  #unsent({ ackId, draft }: InFlightRequest): void {
    if (ackId !== undefined && this.#sent.delete(ackId) && draft.urgent) this.#urgentSent--
  }

  #send(posting: InFlightRequest, now: number): void {
    const { ackId, data } = posting
    posting.state = 'sent'
    this.#transmit(data)
    if (ackId === undefined) {
      this.#succeed(posting, false, now)
      return
    }
    this.#sent.set(ackId, posting)
    if (posting.draft.urgent) this.#urgentSent++
  }

  /** The hub did not process the request: the same copy is sent later with the same id ("Publisher"). */
  #pause(posting: InFlightRequest, now: number): void {
    this.#unsent(posting)
    posting.state = 'pausing'
    posting.failures++
    posting.retry = this.#retries.add(now + this.#settings.pause(posting.failures), posting)
  }

  #succeed(posting: InFlightRequest, duplicate: boolean, now: number): void {
    this.forget(posting)
    posting.draft.settled({ ok: true, result: { ackId: posting.ackId, duplicate } }, now)
  }

  #fail(posting: InFlightRequest, error: StateStoreError, now: number): void {
    this.forget(posting)
    posting.draft.settled({ ok: false, error }, now)
  }
}

const lossOf = ({ losses }: InFlightRequest): string =>
  `${losses === 1 ? 'the session was' : `${losses} sessions were`} lost before its acknowledgement came`

const NO_TIMES = { deadline: undefined, retry: undefined }

function isTooLong(data: FrameData): boolean {
  if (typeof data !== 'string') return data.length > LONGEST_FRAME
  // A UTF-16 code unit takes at most three bytes, which avoids encoding most texts.
  return data.length * 3 > LONGEST_FRAME && utf8(data).length > LONGEST_FRAME
}

/** The frame itself is one level of JSON. */
const DEEPEST = MAXIMUM_NESTING - 1

/**
 * Returns the JSON text of a value that a client may send. Throws {@link ArgumentError} if a value has none or makes a
 * hub end the session: `null`, including `NaN`, an invalid `Date` or a `toJSON` result that becomes `null`, and deep
 * nesting. Also rejects a `Map`, a `Set`, a `Blob` and other objects that would silently become `{}`.
 *
 * @example
 * ```ts
 * toSentJson({ celsius: 21 }) // '{"celsius":21}'
 * ```
 */
export function toSentJson(value: unknown): string {
  const text = toJson(value)
  if (text === 'null') throw new ArgumentError('Data of type json must not be null or become null in JSON')
  if (text === '{}' && !isPlain(value)) throw new ArgumentError('Data of type json would become {}: convert it first')
  if (isNestedWithin(DEEPEST, text)) return text
  throw new ArgumentError(`Data of type json must not be nested deeper than ${DEEPEST} levels`)
}

// Includes custom classes and objects of another realm.
const isPlain = (value: unknown): boolean => Object.prototype.toString.call(value) === '[object Object]'
