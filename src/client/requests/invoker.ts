import { noMatchingSubscribers } from '../../core/mqtt5/reason-codes.js'
import { CONTENT_TYPE, PROPERTY } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC } from '../../core/protocol/topics.js'
import { afterInput, type Clock } from '../../core/util/clock.js'
import {
  type OutcomeUnknownError,
  OverflowError,
  RequestRejectedError,
  type StateStoreError,
  TimeoutError,
} from '../../core/util/errors.js'
import { Timeouts } from '../../core/util/timeouts.js'
import type { ConnectionInfo, InboundMessage, MqttSession, OutboundRequest } from '../session/session.js'
import { Correlation } from './correlation.js'
import { EarlierWrites } from './earlier-writes.js'
import {
  NO_RESPONSES,
  NoStoreError,
  neverConnected,
  noRoom,
  notEncodableError,
  notSentError,
  outcomeUnknown,
  type PendingRequest,
  type RpcRequest,
  tooLargeError,
  unansweredError,
} from './request.js'
import { isBusy, ResponsePace } from './response-pace.js'
import { SentRequests } from './sent-requests.js'

interface InvokerOptions {
  readonly session: MqttSession
  readonly responseTopic: string
  readonly clock: Clock
  readonly limit: number
}

const OK = '200'
/** Time within which a broker that waited for buffer space sends more data, ms. */
const REFILL_MS = 20
/** Maximum message expiry of MQTT, an integer of 32 bits, s. */
const MAX_EXPIRY_S = 2 ** 32 - 1
/**
 * Upper bound of a request's size without its payload, bytes: a dozen texts of at most 65,535 bytes each. Only packets
 * that might exceed the broker's limit are measured.
 */
const MAX_OVERHEAD_BYTES = 1024 * 1024

/**
 * Sends requests and receives responses over MQTT 5 (response topic and correlation data, MQTT 5.0, section 4.10).
 *
 * Requests wait for the connection until their timeout and are sent in order, at most as many unacknowledged at a time
 * as the broker allows and unanswered as {@link SentRequests} allows. When the connection is lost, repeatable requests
 * return to the head of the queue. Writes wait for their response in the resumed session. They fail with
 * {@link OutcomeUnknownError} when the session is lost, or as soon as a later request for the same key gets its
 * response. To get such a response, an inquiry is sent first.
 */
export class Invoker {
  readonly #session: MqttSession
  readonly #responseTopic: string
  readonly #clock: Clock
  readonly #limit: number
  readonly #correlation = new Correlation()
  readonly #timeouts: Timeouts<PendingRequest>
  #queued = new Set<PendingRequest>()
  readonly #sent: SentRequests
  readonly #earlierWrites = new EarlierWrites()
  /** The invoker's internal requests, which resolve {@link EarlierWrites}. */
  readonly #inquiries = new Set<PendingRequest>()
  #lastId = 0
  #unacknowledged = 0
  readonly #pace = new ResponsePace<PendingRequest>()
  #connection: ConnectionInfo | undefined
  #hasConnected = false
  #epoch = 0
  #disconnectCause: StateStoreError | undefined
  #closeError: StateStoreError | undefined

  constructor({ session, responseTopic, clock, limit }: InvokerOptions) {
    this.#session = session
    this.#responseTopic = responseTopic
    this.#clock = clock
    this.#limit = limit
    this.#timeouts = new Timeouts(clock, pending => this.#onTimeout(pending))
    this.#sent = new SentRequests(clock, () => this.#flush())
  }

  /** Time from sending a recent request until its response arrived, ms; `undefined` before the first of a connection. */
  get roundTrip(): number | undefined {
    return this.#pace.roundTrip
  }

  get url(): string | undefined {
    return this.#session.url
  }

  get pending(): number {
    return this.#queued.size + this.#sent.size - this.#inquiries.size
  }

  /** Returns the error of a request that was not sent within `timeout` ms, with the connection's state. */
  unsentError(timeout: number, key: string | undefined): TimeoutError {
    const cause = this.#disconnectCause
    if (!this.#hasConnected) return new TimeoutError(timeout, key, cause, neverConnected(this.url, cause))
    const limit = this.#connection?.receiveMaximum ?? Number.POSITIVE_INFINITY
    const why = this.#unacknowledged < limit ? undefined : noRoom(limit)
    return new TimeoutError(timeout, key, cause, why ?? (isBusy(this.#sent.unanswered) ? NO_RESPONSES : undefined))
  }

  /** Sends a request. Returns a function that drops it, but cannot recall a message on the wire. */
  send(request: RpcRequest): () => void {
    if (this.#closeError) {
      request.failed(this.#closeError)
      return () => undefined
    }
    if (request.isBoundToConnection && this.#connection === undefined) {
      request.failed(notSentError(request, this.#disconnectCause))
      return () => undefined
    }
    if (this.pending >= this.#limit) {
      request.failed(new OverflowError('The queue of requests', this.#limit))
      return () => undefined
    }
    const pending = this.#addPending(request, this.#clock.monotonic() + request.timeout)
    this.#queued.add(pending)
    this.#flush()
    return () => this.#cancel(pending)
  }

  /** Handles a new connection. Responses to earlier requests can arrive only in a resumed session. */
  connected(info: ConnectionInfo): void {
    const sent = this.#sent.inOrder
    this.#earlierWrites.reset(info.sessionPresent ? sent : [])
    if (info.sessionPresent) return
    for (const pending of sent) {
      this.#fail(pending, outcomeUnknown(pending, 'the connection was lost, and so was the session at the broker'))
    }
  }

  ready(info: ConnectionInfo): void {
    this.#connection = info
    this.#hasConnected = true
    this.#disconnectCause = undefined
    this.#queueInquiries()
    this.#flush()
  }

  disconnected(cause: StateStoreError): void {
    this.#connection = undefined
    this.#disconnectCause = cause
    this.#epoch++
    this.#pace.disconnected()
    this.#unacknowledged = 0
    // Removes the inquiries, because the next connection creates new ones.
    for (const inquiry of Array.from(this.#inquiries)) this.#remove(inquiry)
    const toResend: PendingRequest[] = []
    this.#sent.disconnected()
    for (const pending of this.#sent.inOrder) {
      if (!pending.request.isRepeatable) continue
      this.#sent.delete(pending)
      pending.id = undefined
      toResend.push(pending)
    }
    this.#queued = new Set([...toResend, ...this.#queued])
    for (const pending of Array.from(this.#queued))
      if (pending.request.isBoundToConnection) this.#fail(pending, notSentError(pending.request, cause))
  }

  /** Fails unsent requests with `error`, and sent writes with an unknown outcome. */
  close(error: StateStoreError): void {
    this.#closeError = error
    this.#connection = undefined
    for (const pending of [...this.#sent.inOrder, ...this.#queued]) {
      const isSent = pending.id !== undefined && !pending.request.isRepeatable
      this.#fail(pending, isSent ? outcomeUnknown(pending, 'the client was closed before the response arrived') : error)
    }
  }

  /** Handles a message on the response topic. Drops responses without a request. */
  received(message: InboundMessage): void {
    const slot = this.#correlation.slotOf(message.correlationData)
    const pending = slot === undefined ? undefined : this.#sent.get(slot)
    if (pending?.id === undefined || !this.#correlation.hasNumber(message.correlationData, pending.id)) return
    this.#pace.answered(pending, this.#sent.unanswered, () => this.#clock.monotonic())
    if (pending.epoch === this.#epoch) this.#onLaterResponse(pending.request.subject)
    const status = message.userProperties[PROPERTY.status] ?? OK
    if (pending.expiry) this.#sent.delete(pending)
    else if (status === OK) {
      if (this.#remove(pending)) pending.request.succeeded(message)
    } else {
      const text = message.userProperties[PROPERTY.statusMessage] ?? 'no explanation given'
      const explanation = `The state store rejected the request (${text})`
      this.#fail(pending, new RequestRejectedError(Number(status), explanation, pending.request.key))
    }
    this.#flush()
  }

  #addPending(request: RpcRequest, expiresAt: number): PendingRequest {
    const pending: PendingRequest = {
      request,
      expiresAt,
      slot: 0,
      id: undefined,
      epoch: 0,
      connectionNumber: -1,
      isAcknowledged: false,
      deadline: undefined,
    }
    pending.deadline = this.#timeouts.add(expiresAt, pending)
    return pending
  }

  /** Queues inquiries before all other requests. */
  #queueInquiries(): void {
    const inquiries: PendingRequest[] = []
    for (const [subject, writes] of this.#earlierWrites.subjects) {
      const expiresAt = Math.max(...writes.map(write => write.expiresAt))
      const [first] = writes
      const inquiry = first?.request.inquiry?.()
      if (first === undefined || inquiry === undefined) continue
      const { key, commonProperties } = first.request
      const timeout = Math.max(1, expiresAt - this.#clock.monotonic())
      const ignore = (): void => undefined
      const callbacks = { succeeded: ignore, failed: ignore }
      inquiries.push(
        this.#addPending(
          { ...inquiry, ...callbacks, key, commonProperties, subject, timeout, isRepeatable: true },
          expiresAt,
        ),
      )
    }
    for (const inquiry of inquiries) this.#inquiries.add(inquiry)
    this.#queued = new Set([...inquiries, ...this.#queued])
  }

  /**
   * Fails the earlier writes to a key once a request for the key that was sent on this connection has its response,
   * because the responses to those writes will not arrive.
   */
  #onLaterResponse(subject: string | undefined): void {
    for (const write of this.#earlierWrites.removeWrites(subject))
      this.#fail(write, outcomeUnknown(write, 'the connection was lost, and a later request got its response first'))
  }

  /**
   * Handles a timeout. The response may have arrived unread: a blocked event loop runs timers first, and a socket
   * buffers only part of the data. Reading therefore continues for as long as the timer was late.
   */
  #onTimeout(pending: PendingRequest): void {
    const now = this.#clock.monotonic()
    if (pending.id === undefined) this.#failUnsent(pending)
    else this.#awaitInput(pending, 2 * now - pending.expiresAt)
  }

  /** Waits for one turn of input, and for further turns while data arrives. */
  #awaitInput(pending: PendingRequest, until: number): void {
    const { received } = this.#session
    afterInput(this.#clock, () => {
      const isOver = this.#session.received === received || this.#clock.monotonic() >= until
      if (isOver || pending.deadline === undefined) this.#onUnanswered(pending)
      else this.#clock.schedule(REFILL_MS, () => this.#awaitInput(pending, until))
    })
  }

  #onUnanswered(pending: PendingRequest): void {
    // The connection may have been lost in the meantime, which makes a repeatable request wait again.
    if (pending.id === undefined) this.#failUnsent(pending)
    else if (this.#fail(pending, unansweredError(pending, this.#disconnectCause)) && this.#connection)
      this.#session.verifyConnection()
    this.#flush()
  }

  /** Returns the connection, or undefined while the request must wait. */
  #connectionFor(pending: PendingRequest): ConnectionInfo | undefined {
    const connection = this.#connection
    const hasRoom = connection && this.#unacknowledged < connection.receiveMaximum && !this.#sent.isFull
    return hasRoom && this.#isInTime(pending) ? connection : undefined
  }

  /** Returns whether a response is expected in time. The outcome of a write that was not sent is certain. */
  #isInTime({ expiresAt }: PendingRequest): boolean {
    const { unanswered } = this.#sent
    return !isBusy(unanswered) || this.#pace.expectedAt(unanswered, this.#clock.monotonic()) < expiresAt
  }

  #flush(): void {
    for (const pending of this.#queued) {
      const connection = this.#connectionFor(pending)
      if (connection === undefined) break
      this.#queued.delete(pending)
      this.#dispatch(pending, connection)
    }
    this.#sent.awaitRoom(this.#queued.size)
  }

  #dispatch(pending: PendingRequest, { maximumPacketSize = Number.POSITIVE_INFINITY }: ConnectionInfo): void {
    const { request } = pending
    const now = this.#clock.monotonic()
    // A blocked event loop may read from the broker before it runs the overdue timer.
    if (now >= pending.expiresAt) {
      this.#failUnsent(pending)
      return
    }
    const id = ++this.#lastId
    const slot = this.#sent.add(pending)
    pending.id = id
    pending.slot = slot
    pending.epoch = this.#epoch
    pending.isAcknowledged = false
    request.sent?.()
    const isSmall = request.payload.length + MAX_OVERHEAD_BYTES <= maximumPacketSize
    try {
      const message = this.#createMessage(pending, slot, id, now)
      const size = isSmall ? 0 : this.#session.sizeOf(message)
      if (size <= maximumPacketSize) this.#transmit(pending, message)
      else this.#fail(pending, tooLargeError(request, size, maximumPacketSize))
    } catch (cause) {
      // After the end of the request, the error is one of its callbacks.
      if (pending.deadline === undefined) throw cause
      this.#fail(pending, notEncodableError(request, cause))
    }
  }

  #createMessage(pending: PendingRequest, slot: number, id: number, now: number): OutboundRequest {
    const { request, expiresAt } = pending
    this.#pace.sent(pending, this.#sent.unanswered, now)
    return {
      topic: INVOKE_TOPIC,
      payload: request.payload,
      responseTopic: this.#responseTopic,
      correlationData: this.#correlation.encode(slot, id),
      messageExpiry: Math.min(MAX_EXPIRY_S, Math.ceil((expiresAt - now) / 1000)),
      contentType: CONTENT_TYPE,
      userProperties: request.userProperties(),
      commonProperties: request.commonProperties,
    }
  }

  #transmit(pending: PendingRequest, message: OutboundRequest): void {
    const { key } = pending.request
    this.#unacknowledged++
    const epoch = this.#epoch
    try {
      this.#session.publish(message, refusal => {
        if (epoch !== this.#epoch) return
        this.#unacknowledged--
        pending.isAcknowledged = true
        if (refusal && pending.expiry) this.#sent.delete(pending)
        else if (refusal)
          this.#fail(pending, refusal.status === noMatchingSubscribers ? new NoStoreError(key) : refusal)
        this.#flush()
      })
    } catch (error) {
      // The request was not sent, so the broker will not acknowledge it.
      if (epoch === this.#epoch && !pending.isAcknowledged) this.#unacknowledged--
      throw error
    }
  }

  #failUnsent(pending: PendingRequest): void {
    const { timeout, key } = pending.request
    this.#fail(pending, this.unsentError(timeout, key))
  }

  /** Returns whether the request was pending. */
  #fail(pending: PendingRequest, error: StateStoreError): boolean {
    const isPending = this.#remove(pending)
    if (isPending) pending.request.failed(error)
    return isPending
  }

  #cancel(pending: PendingRequest): void {
    const isSent = pending.id !== undefined
    if (!this.#forget(pending) || !isSent) return
    this.#sent.cancel(pending)
    this.#flush()
  }

  #remove(pending: PendingRequest): boolean {
    const isSent = pending.id !== undefined
    const isPending = this.#forget(pending)
    if (isPending && isSent) this.#sent.delete(pending)
    return isPending
  }

  /** Ends a request, except for its place among the sent ones. Returns whether the request was pending. */
  #forget(pending: PendingRequest): boolean {
    if (pending.deadline === undefined) return false
    this.#timeouts.remove(pending.deadline)
    pending.deadline = undefined
    this.#inquiries.delete(pending)
    this.#pace.ended(pending)
    if (pending.id === undefined) {
      this.#queued.delete(pending)
      this.#sent.awaitRoom(this.#queued.size)
    }
    return true
  }
}
