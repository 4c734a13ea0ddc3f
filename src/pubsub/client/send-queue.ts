import { utf8 } from '../../core/util/bytes.js'
import { DeadlineQueue } from '../../core/util/deadlines.js'
import { ArgumentError, type ClosedError, OverflowError, reason, StateStoreError } from '../../core/util/errors.js'
import { isNestedWithin, MAX_NESTING } from '../../core/util/json-nesting.js'
import type { AckError, FrameData } from '../wire/frames.js'
import { toJson } from '../wire/json.js'
import type { MachineSettings } from './events.js'
import {
  CancellableFifo,
  describeRequest,
  type InFlightRequest,
  type OutgoingRequest,
  outcomeUnknown,
  PubSubRefusedError,
  timeoutError,
  withoutAckError,
} from './in-flight-request.js'

/** The maximum size of a frame. A hub ends the session of a client that sends a frame larger than 1 MiB. */
const MAX_FRAME_BYTES = 1024 * 1024
/**
 * The maximum number of requests in flight. A hub remembers about 1,000 ids, so below that number it recognises every
 * copy.
 */
const MAX_IN_FLIGHT = 500
/** The number by which joins and leaves may exceed the limit, so that unacknowledged messages do not block them. */
const MAX_EXTRA_URGENT = 100
/** The limit on all held data, in bytes or characters. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
/** The number of session losses after which a message in flight is assumed to be their cause. */
const MAX_LOST_SESSIONS = 3
/**
 * The bytes buffered by the socket at which messages wait, and the interval in ms at which the buffer is polled,
 * because WebSocket has no drain event.
 */
const MAX_BUFFERED_BYTES = 1024 * 1024
const BUFFER_POLL_MS = 20

/**
 * Keeps the queued and unacknowledged requests. A copy of a request sent after a recovery carries the same id, so that
 * the hub recognises duplicates ("Publisher"). Pure. All times are in ms.
 */
export class SendQueue {
  readonly #settings: MachineSettings
  readonly #transmit: (data: FrameData) => void
  readonly #urgentQueue = new CancellableFifo<InFlightRequest>()
  /** The requests to resend after `InternalServerError`. */
  readonly #retryQueue = new CancellableFifo<InFlightRequest>()
  readonly #normalQueue = new CancellableFifo<InFlightRequest>()
  /** The unacknowledged requests, in the order in which they were sent. */
  readonly #unacknowledged = new Map<bigint, InFlightRequest>()
  readonly #deadlines = new DeadlineQueue<InFlightRequest>()
  readonly #retries = new DeadlineQueue<InFlightRequest>()
  #lastId = 0n
  /** The number of requests that count towards the limit. */
  #heldCount = 0
  #heldBytes = 0
  #urgentSent = 0
  #isConnected = false
  #pollAt = Number.POSITIVE_INFINITY

  constructor(settings: MachineSettings, transmit: (data: FrameData) => void) {
    this.#settings = settings
    this.#transmit = transmit
  }

  get deadline(): number {
    return Math.min(this.#deadlines.earliest, this.#retries.earliest, this.#pollAt)
  }

  /** Returns a new id. The requests that bypass the queue are too few to displace ids that the hub remembers. */
  nextId(): bigint {
    return ++this.#lastId
  }

  post(outgoing: OutgoingRequest, now: number): InFlightRequest | undefined {
    const ackId = outgoing.ack ? this.nextId() : undefined
    const data = this.#tryEncode(outgoing, ackId)
    if (data instanceof StateStoreError) {
      outgoing.onSettled({ ok: false, error: data }, now)
      return undefined
    }
    const fifo = outgoing.urgent ? this.#urgentQueue : this.#normalQueue
    const request: InFlightRequest = {
      outgoing,
      data,
      ackId,
      fifo,
      state: 'waiting',
      lostSessions: 0,
      failures: 0,
      ...NO_TIMES,
    }
    request.deadline = this.#deadlines.add(now + outgoing.timeout, request)
    this.#addToHeld(request, 1)
    fifo.push(request)
    this.#flush(now)
    return request
  }

  /** Cancels a request, so that it is not sent or resent. */
  forget(request: InFlightRequest): void {
    if (request.state === 'settled') return
    if (request.state === 'waiting') request.fifo.onCancelled()
    request.state = 'settled'
    this.#addToHeld(request, -1)
    if (request.deadline) this.#deadlines.remove(request.deadline)
    if (request.retry) this.#retries.remove(request.retry)
    this.#removeUnacknowledged(request)
  }

  /**
   * Handles an ack. Ignores unknown ids. `Duplicate` means success, because the hub has processed an earlier copy
   * ("Publisher").
   */
  onAck(ackId: bigint, success: boolean, error: AckError | undefined, now: number): void {
    const request = this.#unacknowledged.get(ackId)
    if (request === undefined) return
    const { name = '', message = '' } = error ?? {}
    if (success || name === 'Duplicate') this.#succeed(request, !success, now)
    else if (name === 'InternalServerError' && request.failures < this.#settings.retries) this.#retryLater(request, now)
    else this.#fail(request, new PubSubRefusedError(describeRequest(request.outgoing.frame), { name, message }), now)
    this.#flush(now)
  }

  tick(now: number): void {
    for (let due = this.#retries.takeDue(now); due !== undefined; due = this.#retries.takeDue(now)) {
      due.state = 'waiting'
      due.fifo = due.outgoing.urgent ? this.#urgentQueue : this.#retryQueue
      due.fifo.push(due)
    }
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      this.#fail(due, timeoutError(due), now)
    }
    this.#flush(now)
  }

  /** Resumes sending when the hub accepts frames. In a recovered session, resends unacknowledged requests. */
  resume(now: number): void {
    this.#isConnected = true
    for (const request of this.#unacknowledged.values()) this.#transmit(request.data)
    this.#flush(now)
  }

  suspend(): void {
    this.#isConnected = false
    this.#pollAt = Number.POSITIVE_INFINITY
  }

  /**
   * Handles the loss of the session. The hub's record of ids ended with the session, so the outcome of sent requests is
   * unknown.
   */
  onSessionLost(now: number): void {
    const again: InFlightRequest[] = []
    for (const request of Array.from(this.#unacknowledged.values())) {
      request.lostSessions++
      if (request.outgoing.atLeastOnce && request.lostSessions < MAX_LOST_SESSIONS) again.push(request)
      else this.#fail(request, outcomeUnknown(request, describeLoss(request)), now)
    }
    this.#unacknowledged.clear()
    for (const request of again) {
      request.state = 'waiting'
      request.fifo = this.#normalQueue
    }
    this.#normalQueue.prepend(again)
  }

  /** Fails all requests, with `error` if they cannot have been processed and with `outcome-unknown` otherwise. */
  close(error: ClosedError, now: number): void {
    this.suspend()
    const never = Number.POSITIVE_INFINITY
    for (let next = this.#deadlines.takeDue(never); next !== undefined; next = this.#deadlines.takeDue(never)) {
      this.#fail(next, withoutAckError(next, 'the client was closed before its acknowledgement arrived', error), now)
    }
  }

  #tryEncode({ frame, urgent }: OutgoingRequest, ackId: bigint | undefined): FrameData | StateStoreError {
    const { codec, maxQueued } = this.#settings
    if (this.#heldCount >= maxQueued && !urgent) return new OverflowError('The queue of messages', maxQueued)
    try {
      const data = codec.encode(ackId === undefined ? frame : { ...frame, ackId }, toSentJson)
      if (!urgent && this.#heldBytes + data.length > MAX_HELD_BYTES) {
        return new OverflowError('The queue of messages, in bytes', MAX_HELD_BYTES)
      }
      if (!exceedsFrameLimit(data)) return data
      return new ArgumentError(`Expected at most ${MAX_FRAME_BYTES} bytes in ${describeRequest(frame)}, got more`)
    } catch (cause) {
      return new ArgumentError(`Cannot encode ${describeRequest(frame)}: ${reason(cause)}`, { cause })
    }
  }

  #flush(now: number): void {
    if (!this.#isConnected) return
    this.#pollAt = Number.POSITIVE_INFINITY
    for (let fifo = this.#nextQueue(); fifo !== undefined; fifo = this.#nextQueue()) {
      if (this.#settings.bufferedBytes() > MAX_BUFFERED_BYTES) {
        this.#pollAt = now + BUFFER_POLL_MS
        return
      }
      const next = fifo.shift()
      if (next) this.#send(next, now)
    }
  }

  /** Returns the queue to send from. A message without an id needs no slot, but keeps its place in the order. */
  #nextQueue(): CancellableFifo<InFlightRequest> | undefined {
    const isRoom = this.#unacknowledged.size < MAX_IN_FLIGHT
    if (this.#urgentQueue.length > 0)
      return isRoom || this.#urgentSent < MAX_EXTRA_URGENT ? this.#urgentQueue : undefined
    if (isRoom && this.#retryQueue.length > 0) return this.#retryQueue
    const first = this.#normalQueue.peek()
    return first && (isRoom || first.ackId === undefined) ? this.#normalQueue : undefined
  }

  #addToHeld({ outgoing, data }: InFlightRequest, count: 1 | -1): void {
    if (outgoing.urgent) return
    this.#heldCount += count
    this.#heldBytes += count * data.length
  }

  #removeUnacknowledged({ ackId, outgoing }: InFlightRequest): void {
    if (ackId !== undefined && this.#unacknowledged.delete(ackId) && outgoing.urgent) this.#urgentSent--
  }

  #send(request: InFlightRequest, now: number): void {
    const { ackId, data } = request
    request.state = 'sent'
    this.#transmit(data)
    if (ackId === undefined) {
      this.#succeed(request, false, now)
      return
    }
    this.#unacknowledged.set(ackId, request)
    if (request.outgoing.urgent) this.#urgentSent++
  }

  /** Schedules another copy of a request that the hub did not process. The copy carries the same id ("Publisher"). */
  #retryLater(request: InFlightRequest, now: number): void {
    this.#removeUnacknowledged(request)
    request.state = 'pausing'
    request.failures++
    request.retry = this.#retries.add(now + this.#settings.pause(request.failures), request)
  }

  #succeed(request: InFlightRequest, duplicate: boolean, now: number): void {
    this.forget(request)
    request.outgoing.onSettled({ ok: true, result: { ackId: request.ackId, duplicate } }, now)
  }

  #fail(request: InFlightRequest, error: StateStoreError, now: number): void {
    this.forget(request)
    request.outgoing.onSettled({ ok: false, error }, now)
  }
}

const describeLoss = ({ lostSessions }: InFlightRequest): string =>
  `${lostSessions === 1 ? 'the session was' : `${lostSessions} sessions were`} lost before its acknowledgement arrived`

const NO_TIMES = { deadline: undefined, retry: undefined }

function exceedsFrameLimit(data: FrameData): boolean {
  if (typeof data !== 'string') return data.length > MAX_FRAME_BYTES
  // A UTF-16 code unit takes at most three bytes, so most texts do not have to be encoded.
  return data.length * 3 > MAX_FRAME_BYTES && utf8(data).length > MAX_FRAME_BYTES
}

/**
 * The maximum nesting of data. It is one less than the maximum nesting of a frame, because the frame itself is one
 * level of JSON.
 */
const MAX_DATA_NESTING = MAX_NESTING - 1

/**
 * Returns the JSON text of a value that a client may send. Throws {@link ArgumentError} if a value has no JSON text or
 * makes a hub end the session. Such values are `null`, including `NaN`, an invalid `Date` or a `toJSON` result that
 * becomes `null`, and deeply nested values. Also rejects a `Map`, a `Set`, a `Blob` and other objects that would
 * silently become `{}`.
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
  if (isNestedWithin(MAX_DATA_NESTING, text)) return text
  throw new ArgumentError(`Data of type json must not be nested deeper than ${MAX_DATA_NESTING} levels`)
}

// The tag also identifies instances of custom classes and objects of another realm.
const isPlain = (value: unknown): boolean => Object.prototype.toString.call(value) === '[object Object]'
