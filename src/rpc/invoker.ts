import { randomBytes } from '../backoff.js'
import type { Clock } from '../clock.js'
import { type Deadline, DeadlineQueue } from '../deadlines.js'
import {
  ArgumentError,
  type ClosedError,
  OutcomeUnknownError,
  OverflowError,
  RequestRejectedError,
  type StateStoreError,
  TimeoutError,
} from '../errors.js'
import type { ConnectionInfo, InboundMessage, MqttSession } from '../mqtt/session.js'

/** An answer. */
export interface RpcReply {
  readonly payload: Uint8Array
  readonly userProperties: InboundMessage['userProperties']
}

/** A request and where its answer goes; exactly one of the two functions is called, unless it is cancelled. */
export interface RpcRequest {
  /** The key, for messages to people; none when the request is not about one. */
  readonly key: string | undefined
  readonly payload: Uint8Array
  /** ms until the request has failed, wherever it is by then. */
  readonly timeout: number
  /** Whether it may be sent again when the connection broke: reads may, writes may not. */
  readonly repeatable: boolean
  /** Called when the request is sent, so that a timestamp is that of sending. */
  userProperties(): Record<string, string>
  succeeded(reply: RpcReply): void
  failed(error: StateStoreError): void
}

/** Where requests go and answers come from. */
export interface RpcTopics {
  readonly request: string
  readonly response: string
  readonly contentType: string
  /** User property with the RPC status of an answer, and the one with its explanation. */
  readonly status: string
  readonly statusMessage: string
}

interface Pending {
  readonly request: RpcRequest
  readonly expiry: number
  /** Until it has its answer. */
  deadline: Deadline<Pending> | undefined
  /** Number in the correlation data once it is on the wire. */
  id: number | undefined
}

const OK = '200'
const CORRELATION_LENGTH = 16
const COUNTER_OFFSET = 10
/** MQTT has 32 bits for it, s. */
const LONGEST_EXPIRY = 2 ** 32 - 1
/** What a PUBLISH needs besides its payload, generously, bytes. */
const PACKET_OVERHEAD = 1024

/**
 * Request and response over MQTT 5 (response topic and correlation data, MQTT 5.0, section 4.10).
 *
 * Requests wait for the connection until their timeout and are sent in the order they came, never more unacknowledged
 * than the broker takes. When the connection breaks, repeatable requests go back to the head of the queue, others keep
 * waiting for their answer in a resumed session and fail with {@link OutcomeUnknownError} when it is lost.
 */
export class Invoker {
  readonly #session: MqttSession
  readonly #topics: RpcTopics
  readonly #clock: Clock
  readonly #limit: number
  readonly #origin = randomBytes(COUNTER_OFFSET)
  readonly #deadlines = new DeadlineQueue<Pending>()
  #waiting = new Set<Pending>()
  readonly #sent = new Map<number, Pending>()
  #counter = 0
  #unacknowledged = 0
  #connection: ConnectionInfo | undefined
  #epoch = 0
  #timer: { readonly at: number; readonly cancel: () => void } | undefined
  #closed: ClosedError | undefined

  /** @param limit - most requests held at a time; one more fails with {@link OverflowError} */
  constructor(session: MqttSession, topics: RpcTopics, clock: Clock, limit: number) {
    this.#session = session
    this.#topics = topics
    this.#clock = clock
    this.#limit = limit
  }

  /** Requests that have no answer yet. */
  get pending(): number {
    return this.#waiting.size + this.#sent.size
  }

  /** Sends a request; the returned function forgets it, which cannot take back what is on the wire. */
  send(request: RpcRequest): () => void {
    if (this.#closed) {
      request.failed(this.#closed)
      return () => undefined
    }
    if (this.pending >= this.#limit) {
      request.failed(new OverflowError('The queue of requests', this.#limit))
      return () => undefined
    }
    const pending = this.#enqueue(request)
    this.#flush()
    return () => this.#forget(pending)
  }

  /** The connection is there. Answers of before can come only in a session that the broker kept. */
  connected(info: ConnectionInfo): void {
    if (info.sessionPresent) return
    for (const pending of Array.from(this.#sent.values())) {
      this.#fail(pending, unknown(pending, 'the connection broke and the broker lost the session'))
    }
  }

  /** The response topic is subscribed: requests may go. */
  ready(info: ConnectionInfo): void {
    this.#connection = info
    this.#flush()
  }

  /** The connection is gone. */
  disconnected(): void {
    this.#connection = undefined
    this.#epoch++
    this.#unacknowledged = 0
    const again: Pending[] = []
    for (const [id, pending] of this.#sent) {
      if (!pending.request.repeatable) continue
      this.#sent.delete(id)
      pending.id = undefined
      again.push(pending)
    }
    this.#waiting = new Set([...again, ...this.#waiting])
  }

  /** Fails everything: what was not sent with `error`, a write on the wire with an unknown outcome. */
  close(error: ClosedError): void {
    this.#closed = error
    this.#connection = undefined
    for (const pending of [...this.#sent.values(), ...this.#waiting]) {
      const onTheWire = pending.id !== undefined && !pending.request.repeatable
      this.#fail(pending, onTheWire ? unknown(pending, 'the client was closed before its answer came') : error)
    }
  }

  /** Takes a message of the response topic; one that answers nothing is late, and dropped. */
  received(message: InboundMessage): void {
    const id = this.#idOf(message.correlationData)
    const pending = id === undefined ? undefined : this.#sent.get(id)
    if (pending === undefined) return
    const status = message.userProperties[this.#topics.status] ?? OK
    if (status === OK) {
      this.#forget(pending)
      pending.request.succeeded(message)
      return
    }
    const text = message.userProperties[this.#topics.statusMessage] ?? 'no explanation given'
    const explanation = `The state store rejected the request (${text})`
    this.#fail(pending, new RequestRejectedError(Number(status), explanation, pending.request.key))
  }

  #enqueue(request: RpcRequest): Pending {
    const expiry = this.#clock.monotonic() + request.timeout
    const pending: Pending = { request, expiry, id: undefined, deadline: undefined }
    pending.deadline = this.#deadlines.add(expiry, pending)
    this.#waiting.add(pending)
    this.#armTimer()
    return pending
  }

  #flush(): void {
    const connection = this.#connection
    if (connection === undefined) return
    for (const pending of this.#waiting) {
      if (this.#unacknowledged >= connection.receiveMaximum) return
      this.#waiting.delete(pending)
      if (
        pending.request.payload.length + PACKET_OVERHEAD >
        (connection.maximumPacketSize ?? Number.POSITIVE_INFINITY)
      ) {
        this.#fail(pending, tooLarge(pending.request, connection.maximumPacketSize))
      } else {
        this.#transmit(pending)
      }
    }
  }

  #transmit(pending: Pending): void {
    const { request } = pending
    const id = ++this.#counter
    pending.id = id
    this.#sent.set(id, pending)
    this.#unacknowledged++
    const epoch = this.#epoch
    const left = pending.expiry - this.#clock.monotonic()
    this.#session.publish(
      {
        topic: this.#topics.request,
        payload: request.payload,
        responseTopic: this.#topics.response,
        correlationData: this.#correlation(id),
        messageExpiry: Math.min(LONGEST_EXPIRY, Math.max(1, Math.ceil(left / 1000))),
        contentType: this.#topics.contentType,
        userProperties: request.userProperties(),
      },
      refusal => {
        if (epoch !== this.#epoch) return
        this.#unacknowledged--
        if (refusal) this.#fail(pending, refusal)
        this.#flush()
      },
    )
  }

  #fail(pending: Pending, error: StateStoreError): void {
    if (this.#forget(pending)) pending.request.failed(error)
  }

  #forget(pending: Pending): boolean {
    if (pending.deadline === undefined) return false
    this.#deadlines.remove(pending.deadline)
    pending.deadline = undefined
    this.#waiting.delete(pending)
    if (pending.id !== undefined) this.#sent.delete(pending.id)
    if (this.#deadlines.size === 0) this.#disarmTimer()
    return true
  }

  // One timer for all; it may ring too early, for a request that is done, but never too late.
  #armTimer(): void {
    const earliest = this.#deadlines.peek()
    if (earliest === undefined || (this.#timer && this.#timer.at <= earliest.at)) return
    this.#disarmTimer()
    const cancel = this.#clock.schedule(earliest.at - this.#clock.monotonic(), () => this.#timeOut())
    this.#timer = { at: earliest.at, cancel }
  }

  #disarmTimer(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #timeOut(): void {
    this.#timer = undefined
    const now = this.#clock.monotonic()
    for (let due = this.#deadlines.takeDue(now); due !== undefined; due = this.#deadlines.takeDue(now)) {
      this.#forget(due)
      due.request.failed(timedOut(due))
    }
    this.#armTimer()
  }

  /** 16 bytes, as the official clients demand: ours alone, then a counter. */
  #correlation(id: number): Uint8Array {
    const bytes = new Uint8Array(CORRELATION_LENGTH)
    bytes.set(this.#origin)
    const view = new DataView(bytes.buffer)
    view.setUint16(COUNTER_OFFSET, Math.floor(id / 2 ** 32))
    view.setUint32(COUNTER_OFFSET + 2, id >>> 0)
    return bytes
  }

  #idOf(correlation: Uint8Array | undefined): number | undefined {
    if (correlation?.length !== CORRELATION_LENGTH) return undefined
    for (let i = 0; i < COUNTER_OFFSET; i++) if (correlation[i] !== this.#origin[i]) return undefined
    const view = new DataView(correlation.buffer, correlation.byteOffset, CORRELATION_LENGTH)
    return view.getUint16(COUNTER_OFFSET) * 2 ** 32 + view.getUint32(COUNTER_OFFSET + 2)
  }
}

const unknown = ({ request }: Pending, why: string): OutcomeUnknownError => new OutcomeUnknownError(why, request.key)

function timedOut(pending: Pending): StateStoreError {
  const { request, id } = pending
  if (id === undefined || request.repeatable) return new TimeoutError(request.timeout, request.key)
  return unknown(pending, `no answer came within ${request.timeout} ms`)
}

const tooLarge = ({ key, payload }: RpcRequest, maximum: number | undefined): ArgumentError =>
  new ArgumentError(
    `A request of ${payload.length} bytes${key === undefined ? '' : ` for key ${JSON.stringify(key)}`} is too large: the broker takes packets of at most ${maximum} bytes`,
  )
