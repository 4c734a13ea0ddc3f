import { CONTENT_TYPE, PROPERTY } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC } from '../../core/protocol/topics.js'
import { randomBytes } from '../../core/util/bytes.js'
import { afterInput, type Clock } from '../../core/util/clock.js'
import { SlotMap } from '../../core/util/collections.js'
import {
  type OutcomeUnknownError,
  OverflowError,
  RequestRejectedError,
  type StateStoreError,
} from '../../core/util/errors.js'
import { Timeouts } from '../../core/util/timeouts.js'
import type { ConnectionInfo, InboundMessage, MqttSession, OutboundRequest } from '../session/session.js'
import { NoStoreError, type Pending, type RpcRequest, timedOut, tooLarge, unknown } from './request.js'

interface InvokerOptions {
  readonly session: MqttSession
  readonly responseTopic: string
  readonly clock: Clock
  /** Maximum number of pending requests; further ones fail with {@link OverflowError}. */
  readonly limit: number
}

const OK = '200'
/** No subscriber received the message (MQTT 5.0, section 3.4.2.1). */
const NO_MATCHING_SUBSCRIBERS = 16
/** Time in which a broker that waited for buffer space sends more data, ms. */
const REFILL = 20
/** Maximum message expiry of MQTT, 32 bits, s. */
const LONGEST_EXPIRY = 2 ** 32 - 1
/**
 * Upper bound of a request's size without its payload, bytes: a dozen texts of at most 65,535 each. Only packets that
 * might exceed the broker's limit are measured.
 */
const MOST_OVERHEAD = 1024 * 1024

/**
 * Request and response over MQTT 5 (response topic and correlation data, MQTT 5.0, section 4.10).
 *
 * Requests wait for the connection until their timeout and are sent in order, with at most as many unacknowledged as
 * the broker allows. When the connection is lost, repeatable requests return to the head of the queue. Writes wait for
 * their response in the resumed session; they fail with {@link OutcomeUnknownError} when the session is lost, or as
 * soon as a later request for the same key gets its response. An inquiry is sent first to get one.
 */
export class Invoker {
  readonly #session: MqttSession
  readonly #responseTopic: string
  readonly #clock: Clock
  readonly #limit: number
  readonly #correlation = new Correlation()
  readonly #timeouts: Timeouts<Pending>
  #waiting = new Set<Pending>()
  readonly #sent = new SlotMap<Pending>()
  readonly #earlier = new EarlierWrites()
  /** Requests of the invoker itself, which resolve {@link EarlierWrites}. */
  readonly #inquiries = new Set<Pending>()
  #counter = 0
  #unacknowledged = 0
  #connection: ConnectionInfo | undefined
  #epoch = 0
  #cause: StateStoreError | undefined
  #closed: StateStoreError | undefined

  constructor({ session, responseTopic, clock, limit }: InvokerOptions) {
    this.#session = session
    this.#responseTopic = responseTopic
    this.#clock = clock
    this.#limit = limit
    this.#timeouts = new Timeouts(clock, pending => this.#late(pending))
  }

  /** Number of requests without a response. */
  get pending(): number {
    return this.#waiting.size + this.#sent.size - this.#inquiries.size
  }

  /** Sends a request. The returned function drops it, but cannot cancel what has been sent. */
  send(request: RpcRequest): () => void {
    if (this.#closed) {
      request.failed(this.#closed)
      return () => undefined
    }
    if (this.pending >= this.#limit) {
      request.failed(new OverflowError('The queue of requests', this.#limit))
      return () => undefined
    }
    const pending = this.#pend(request, this.#clock.monotonic() + request.timeout)
    const connection = this.#waiting.size === 0 ? this.#freeConnection : undefined
    if (connection === undefined) this.#waiting.add(pending)
    else this.#dispatch(pending, connection)
    return () => this.#forget(pending)
  }

  /** Earlier responses can arrive only in a resumed session. */
  connected(info: ConnectionInfo): void {
    const sent = this.#onTheWire()
    this.#earlier.begin(info.sessionPresent ? sent : [])
    if (info.sessionPresent) return
    for (const pending of sent) {
      this.#fail(pending, unknown(pending, 'the connection was lost, and so was the session at the broker'))
    }
  }

  /** The response topic is subscribed, so requests can be sent. */
  ready(info: ConnectionInfo): void {
    this.#connection = info
    this.#cause = undefined
    this.#inquire()
    this.#flush()
  }

  disconnected(cause: StateStoreError): void {
    this.#connection = undefined
    this.#cause = cause
    this.#epoch++
    this.#unacknowledged = 0
    // The next connection creates new inquiries.
    for (const inquiry of Array.from(this.#inquiries)) this.#forget(inquiry)
    const again: Pending[] = []
    for (const pending of this.#onTheWire()) {
      if (!pending.request.repeatable) continue
      this.#sent.delete(pending.place)
      pending.id = undefined
      again.push(pending)
    }
    this.#waiting = new Set([...again, ...this.#waiting])
  }

  /** Fails all requests: unsent ones with `error`, sent writes with an unknown outcome. */
  close(error: StateStoreError): void {
    this.#closed = error
    this.#connection = undefined
    for (const pending of [...this.#onTheWire(), ...this.#waiting]) {
      const onTheWire = pending.id !== undefined && !pending.request.repeatable
      this.#fail(pending, onTheWire ? unknown(pending, 'the client was closed before the response arrived') : error)
    }
  }

  /** Handles a message on the response topic; drops responses without a request. */
  received(message: InboundMessage): void {
    const place = this.#correlation.placeOf(message.correlationData)
    const pending = place === undefined ? undefined : this.#sent.get(place)
    if (pending?.id === undefined || !this.#correlation.isNumber(message.correlationData, pending.id)) return
    if (pending.epoch === this.#epoch) this.#answeredLater(pending.request.subject)
    const status = message.userProperties[PROPERTY.status] ?? OK
    if (status === OK) {
      if (this.#forget(pending)) pending.request.succeeded(message)
      return
    }
    const text = message.userProperties[PROPERTY.statusMessage] ?? 'no explanation given'
    const explanation = `The state store rejected the request (${text})`
    this.#fail(pending, new RequestRejectedError(Number(status), explanation, pending.request.key))
  }

  #pend(request: RpcRequest, expiry: number): Pending {
    const pending: Pending = { request, expiry, place: 0, id: undefined, epoch: 0, deadline: undefined }
    pending.deadline = this.#timeouts.add(expiry, pending)
    return pending
  }

  /** Queues inquiries for the keys of earlier writes, ahead of all other requests. */
  #inquire(): void {
    const inquiries: Pending[] = []
    for (const [subject, writes] of this.#earlier.subjects) {
      const expiry = Math.max(...writes.map(write => write.expiry))
      const [first] = writes
      const inquiry = first?.request.inquiry?.()
      if (first === undefined || inquiry === undefined) continue
      const { key, commonProperties } = first.request
      const timeout = Math.max(1, expiry - this.#clock.monotonic())
      const nothing = (): void => undefined
      const told = { succeeded: nothing, failed: nothing }
      inquiries.push(
        this.#pend({ ...inquiry, ...told, key, commonProperties, subject, timeout, repeatable: true }, expiry),
      )
    }
    for (const inquiry of inquiries) this.#inquiries.add(inquiry)
    this.#waiting = new Set([...inquiries, ...this.#waiting])
  }

  /** A request sent on this connection got its response, so earlier writes to the same key will not get theirs. */
  #answeredLater(subject: string | undefined): void {
    for (const write of this.#earlier.take(subject))
      this.#fail(write, unknown(write, 'the connection was lost, and a later request got its response first'))
  }

  /**
   * Handles a timeout. The response may have arrived unread: a blocked event loop runs timers first, and a socket
   * buffers only part of the data. So reading continues for as long as the timer was late.
   */
  #late(pending: Pending): void {
    const now = this.#clock.monotonic()
    if (pending.id === undefined) this.#fail(pending, timedOut(pending, this.#cause))
    else this.#readOn(pending, 2 * now - pending.expiry)
  }

  /** Waits for a turn of input, and for more while data arrives. */
  #readOn(pending: Pending, until: number): void {
    const { received } = this.#session
    afterInput(this.#clock, () => {
      const isOver = this.#session.received === received || this.#clock.monotonic() >= until
      if (isOver || pending.deadline === undefined) this.#unanswered(pending)
      else this.#clock.schedule(REFILL, () => this.#readOn(pending, until))
    })
  }

  #unanswered(pending: Pending): void {
    const isSent = pending.id !== undefined
    const error = timedOut(pending, this.#cause)
    if (!this.#forget(pending)) return
    pending.request.failed(error)
    if (isSent && this.#connection) this.#session.verifyConnection()
  }

  /** Returns sent requests in the order of sending. */
  #onTheWire(): Pending[] {
    return this.#sent.values.sort((a, b) => (a.id ?? 0) - (b.id ?? 0))
  }

  /** The connection, if the broker accepts another request. */
  get #freeConnection(): ConnectionInfo | undefined {
    const connection = this.#connection
    return connection && this.#unacknowledged < connection.receiveMaximum ? connection : undefined
  }

  #flush(): void {
    for (const pending of this.#waiting) {
      const connection = this.#freeConnection
      if (connection === undefined) return
      this.#waiting.delete(pending)
      this.#dispatch(pending, connection)
    }
  }

  #dispatch(pending: Pending, { maximumPacketSize = Number.POSITIVE_INFINITY }: ConnectionInfo): void {
    const { request } = pending
    const id = ++this.#counter
    const place = this.#sent.add(pending)
    const message = this.#messageOf(pending, place, id)
    const isSmall = request.payload.length + MOST_OVERHEAD <= maximumPacketSize
    const size = isSmall ? 0 : this.#session.sizeOf(message)
    pending.id = id
    pending.place = place
    pending.epoch = this.#epoch
    if (size > maximumPacketSize) this.#fail(pending, tooLarge(request, size, maximumPacketSize))
    else this.#transmit(pending, message)
  }

  #messageOf({ request, expiry }: Pending, place: number, id: number): OutboundRequest {
    const left = expiry - this.#clock.monotonic()
    return {
      topic: INVOKE_TOPIC,
      payload: request.payload,
      responseTopic: this.#responseTopic,
      correlationData: this.#correlation.encode(place, id),
      messageExpiry: Math.min(LONGEST_EXPIRY, Math.max(1, Math.ceil(left / 1000))),
      contentType: CONTENT_TYPE,
      userProperties: request.userProperties(),
      commonProperties: request.commonProperties,
    }
  }

  #transmit(pending: Pending, message: OutboundRequest): void {
    const { key } = pending.request
    this.#unacknowledged++
    const epoch = this.#epoch
    this.#session.publish(message, refusal => {
      if (epoch !== this.#epoch) return
      this.#unacknowledged--
      if (refusal) this.#fail(pending, refusal.status === NO_MATCHING_SUBSCRIBERS ? new NoStoreError(key) : refusal)
      this.#flush()
    })
  }

  #fail(pending: Pending, error: StateStoreError): void {
    if (this.#forget(pending)) pending.request.failed(error)
  }

  #forget(pending: Pending): boolean {
    if (pending.deadline === undefined) return false
    this.#timeouts.remove(pending.deadline)
    pending.deadline = undefined
    this.#inquiries.delete(pending)
    if (pending.id === undefined) this.#waiting.delete(pending)
    else this.#sent.delete(pending.place)
    return true
  }
}

/** Bytes; the official clients require this length. */
const LENGTH = 16
const PLACE = 8
const NUMBER = 12

/**
 * Correlation data (MQTT 5.0, section 3.3.2.3.6): random bytes of this client, and the slot and number of a request.
 */
class Correlation {
  readonly #origin = randomBytes(PLACE)

  /** Slot and number are truncated to 32 bits. */
  encode(place: number, number: number): Uint8Array {
    const bytes = new Uint8Array(LENGTH)
    bytes.set(this.#origin)
    put(bytes, PLACE, place)
    put(bytes, NUMBER, number)
    return bytes
  }

  /** Returns the slot; `undefined` for another client's correlation data. */
  placeOf(bytes: Uint8Array | undefined): number | undefined {
    if (bytes?.length !== LENGTH) return undefined
    for (let i = 0; i < PLACE; i++) if (bytes[i] !== this.#origin[i]) return undefined
    return read(bytes, PLACE)
  }

  isNumber(bytes: Uint8Array | undefined, number: number): boolean {
    return bytes !== undefined && read(bytes, NUMBER) === number >>> 0
  }
}

function put(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

const read = (bytes: Uint8Array, at: number): number =>
  (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0

/**
 * Writes without a response from an earlier connection, by subject. Their responses may still arrive in a resumed
 * session. As requests for one subject are processed in order, and messages of one topic are delivered in order, no
 * response follows once a later request for the subject has its response.
 *
 * @example
 * ```ts
 * earlier.begin(sent)
 * for (const subject of earlier.subjects) ask(subject)
 * for (const write of earlier.take(answered.subject)) fail(write)
 * ```
 */
class EarlierWrites {
  #writes = new Map<string, Pending[]>()

  /** Subjects that need an inquiry. */
  get subjects(): readonly [subject: string, writes: readonly Pending[]][] {
    return Array.from(this.#writes)
  }

  /** Starts a connection, with the writes still in flight. */
  begin(sent: readonly Pending[]): void {
    this.#writes = new Map()
    for (const pending of sent) {
      const { subject } = pending.request
      if (subject === undefined) continue
      const others = this.#writes.get(subject)
      if (others) others.push(pending)
      else this.#writes.set(subject, [pending])
    }
  }

  /** Removes and returns the writes for a subject that will not get a response. */
  take(subject: string | undefined): readonly Pending[] {
    if (subject === undefined || this.#writes.size === 0) return NONE
    const writes = this.#writes.get(subject)
    this.#writes.delete(subject)
    return writes ?? NONE
  }
}

const NONE: readonly Pending[] = []
