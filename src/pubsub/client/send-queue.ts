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

/** A hub takes frames of at most 1 MiB, and ends the session of a client that sends a larger one. */
const LONGEST_FRAME = 1024 * 1024
/** A hub remembers about 1,000 ids; with no more than so many under way it recognises every copy. */
const MOST_UNDER_WAY = 500
/** So many joins and leaves may go beyond that, so that messages without an answer do not hold them up. */
const MOST_URGENT = 100
/** Bytes, or characters, of all that is held. */
const MOST_HELD = 64 * 1024 * 1024
/** A message that was on the wire when so many sessions were lost may be the reason. */
const MOST_LOSSES = 3
/** With so many bytes in the socket, messages wait. A WebSocket does not tell when they have left: it is asked again after so many ms. */
const MOST_BACKLOG = 1024 * 1024
const BACKLOG_POLL = 20

/**
 * What is to be sent, and what is sent and not acknowledged. A request keeps its id for ever: a copy sent after a
 * recovery carries the same, so that the hub can tell it from a new one ("Publisher"). Pure; times in ms.
 */
export class SendQueue {
  readonly #settings: MachineSettings
  readonly #transmit: (data: FrameData) => void
  readonly #urgent = new CancellableFifo<InFlightRequest>()
  /** What the hub could not process and is sent again. */
  readonly #again = new CancellableFifo<InFlightRequest>()
  readonly #line = new CancellableFifo<InFlightRequest>()
  /** On the wire, in the order they were sent. */
  readonly #sent = new Map<bigint, InFlightRequest>()
  readonly #deadlines = new DeadlineQueue<InFlightRequest>()
  readonly #retries = new DeadlineQueue<InFlightRequest>()
  #lastId = 0n
  /** Those that count towards the limit. */
  #held = 0
  #heldBytes = 0
  #urgentSent = 0
  #live = false
  #pollAt = Number.POSITIVE_INFINITY

  constructor(settings: MachineSettings, transmit: (data: FrameData) => void) {
    this.#settings = settings
    this.#transmit = transmit
  }

  /** When {@link tick} has something to do. */
  get deadline(): number {
    return Math.min(this.#deadlines.earliest, this.#retries.earliest, this.#pollAt)
  }

  /** An id for a request that is sent past the queue: no message gets it. There are so few that a hub remembers the others. */
  takeId(): bigint {
    return ++this.#lastId
  }

  /** Sends a request as soon as may be. One that cannot be sent at all settles at once. */
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

  /** Its sender does not wait for it any more: it is not sent, or not sent again. */
  forget(posting: InFlightRequest): void {
    if (posting.state === 'over') return
    if (posting.state === 'waiting') posting.fifo.ceased()
    posting.state = 'over'
    this.#hold(posting, -1)
    if (posting.deadline) this.#deadlines.remove(posting.deadline)
    if (posting.retry) this.#retries.remove(posting.retry)
    this.#unsent(posting)
  }

  /** Takes an answer; one to nothing is late. `Duplicate` is success: an earlier copy was processed ("Publisher"). */
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

  /** The hub listens: in the session of before, to which copies of all that has no answer go, or in a new one. */
  resume(now: number): void {
    this.#live = true
    for (const posting of this.#sent.values()) this.#transmit(posting.data)
    this.#flush(now)
  }

  /** The socket is gone. */
  suspend(): void {
    this.#live = false
    this.#pollAt = Number.POSITIVE_INFINITY
  }

  /** The session is gone, and with it what the hub knows of our ids: the fate of what was sent cannot be found out. */
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

  /** Fails everything: what cannot have been processed with `error`. */
  close(error: ClosedError, now: number): void {
    this.suspend()
    const never = Number.POSITIVE_INFINITY
    for (let next = this.#deadlines.takeDue(never); next !== undefined; next = this.#deadlines.takeDue(never)) {
      this.#fail(next, unanswered(next, 'the client was closed before its acknowledgement came', error), now)
    }
  }

  /** The bytes of a request, or why it cannot be sent. */
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

  /** The queue of the next message that may go. One without an id needs no place, but does not overtake. */
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

  /** The hub has not processed it: the same message, the same id, a little later ("Publisher"). */
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
  // No code unit needs more than three bytes, so that most texts need not be encoded for this.
  return data.length * 3 > LONGEST_FRAME && utf8(data).length > LONGEST_FRAME
}

/** In JSON frames the frame itself is a level. */
const DEEPEST = MAXIMUM_NESTING - 1

/**
 * JSON text of a value that a client may send. Raises {@link ArgumentError} for a value that has none, and for one that
 * makes a hub end the session: `null`, also where it stands for `NaN`, an invalid `Date` or the result of `toJSON`, and
 * deep nesting. The same goes for a `Map`, a `Set`, a `Blob` and the like, which would silently become `{}`.
 *
 * @example
 * ```ts
 * toSentJson({ celsius: 21 }) // '{"celsius":21}'
 * ```
 */
export function toSentJson(value: unknown): string {
  const text = toJson(value)
  if (text === 'null') throw new ArgumentError('Data of type json must not be null, nor what becomes null in JSON')
  if (text === '{}' && !isPlain(value)) throw new ArgumentError('Data of type json would become {}: convert it first')
  if (isNestedWithin(DEEPEST, text)) return text
  throw new ArgumentError(`Data of type json must not be nested deeper than ${DEEPEST} levels`)
}

// Classes of one's own are plain, too, and objects of another realm.
const isPlain = (value: unknown): boolean => Object.prototype.toString.call(value) === '[object Object]'
