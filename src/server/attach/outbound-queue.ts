import { createHash } from 'node:crypto'
import { isObjection, reasonName } from '../../client/session/reasons.js'
import type { ConnectionInfo, Done, ServiceSession } from '../../client/session/session.js'
import type { Publish } from '../../core/mqtt5/packets.js'
import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import { RequestRejectedError } from '../../core/util/errors.js'

/** How a message is queued. */
export interface Handling {
  /** Default `false`. */
  readonly retain?: boolean
  /** Whether this is the answer to a request that comes again when the connection is lost. Default `false`. */
  readonly isRepeatable?: boolean
  /** Whether it is a notification: answers and notifications take turns. Default `false`. */
  readonly isNotification?: boolean
  /** Client id of the receiver, which gets all its messages in order. Default '': no single client. */
  readonly receiver?: string
}

/** A message that was not delivered, and why. */
export interface Drop {
  readonly message: Publish
  /** MQTT 5.0, section 2.4, if the broker gave one. */
  readonly reasonCode: number | undefined
  readonly cause: 'connection-ended' | 'too-large' | 'rejected'
}

/** A message, and who is told of its PUBACK. */
interface PendingMessage extends Required<Handling> {
  readonly message: Publish
  readonly done: Done
  readonly bytes: number
  /** How often the connection ended while nothing else was in flight. */
  losses: number
}

/** What waits may have so many bytes; from half of it on no more requests are taken. */
const MOST_BYTES = 64 * 1024 * 1024
/** Notifications in flight: behind more of them answers would wait in the connection and at the broker. */
const MAX_NOTIFICATIONS_IN_FLIGHT = 256
/** What a message takes besides its payload, generously, bytes. */
const OVERHEAD = 500
/** A message that was alone in flight whenever so many connections in a row ended is taken for the cause. */
const MAX_LOSSES = 3
/** MQTT 5.0, section 3.4.2.1: nobody gets the message. */
const NO_MATCHING_SUBSCRIBERS = 16

/**
 * Answers and notifications on their way to the broker, those of one client in their order ({@link ReceiverQueues}). Never more
 * unacknowledged than the broker takes, and those that had no PUBACK once more when the connection is back and the broker
 * kept the session. They have new packet ids then, which a broker cannot tell from others: it keeps none of QoS 1.
 *
 * One of them may be why the connection ended, as it has more levels or bytes than the broker takes. So they go again in
 * groups, the first of one message and each twice as large as the one before: the message that ends the connection is alone
 * in the end, and is dropped.
 */
export class OutboundQueue {
  readonly #session: Pick<ServiceSession, 'publish' | 'sizeOf'>
  readonly #drained: () => void
  readonly #dropped: (drop: Drop) => void
  readonly #waiting = new ReceiverQueues<PendingMessage>()
  #notificationsInFlight = 0
  /** Sent over a connection that ended, not acknowledged, and not sent again yet. */
  #suspects = new Fifo<PendingMessage>()
  /** Sent and not acknowledged, in the order in which they were sent. */
  #sent = new Set<PendingMessage>()
  /** How many suspects may be sent together next. */
  #groupSize = 1
  /** Whether a group of suspects is in flight, with which nothing else may be. */
  #isProbing = false
  readonly #poison = new PoisonMessages()
  #bytes = 0
  #connection: ConnectionInfo | undefined
  #epoch = 0
  #lost = false

  /**
   * @param drained - called when there is room for more after there was little
   * @param dropped - called for each message that the broker does not take
   */
  constructor(
    session: Pick<ServiceSession, 'publish' | 'sizeOf'>,
    drained: () => void,
    dropped: (drop: Drop) => void = () => undefined,
  ) {
    this.#session = session
    this.#drained = drained
    this.#dropped = dropped
  }

  /** Whether nothing should be asked for that makes more of it. */
  get isBusy(): boolean {
    return this.#bytes > MOST_BYTES / 2
  }

  /** Whether something was dropped since this was asked last, so that watchers do not know what they should. */
  takeLost(): boolean {
    const lost = this.#lost
    this.#lost = false
    return lost
  }

  /** Publishes, in turn. `done` is told of the PUBACK, or that the message was dropped. */
  push(message: Publish, done: Done, handling: Handling = {}): void {
    const bytes = message.payload.length + OVERHEAD
    if (this.#poison.has(message)) {
      done(undefined)
      return
    }
    if (this.#bytes + bytes > MOST_BYTES) {
      this.#lost = true
      done(undefined)
      return
    }
    this.#bytes += bytes
    const { retain = false, isRepeatable = false, isNotification = false, receiver = '' } = handling
    this.#waiting.push({ message, done, bytes, retain, isRepeatable, isNotification, receiver, losses: 0 })
    this.#flush()
  }

  /** The connection is there. What was sent before goes once more, unless the broker has lost the session. */
  connected(info: ConnectionInfo): void {
    this.#connection = info
    if (!info.sessionPresent) this.#suspects = this.#without(this.#suspects, () => true)
    // Their requests come again, and are answered again.
    else for (const { bytes } of this.#waiting.remove(({ isRepeatable }) => isRepeatable)) this.#bytes -= bytes
    this.#flush()
  }

  /** @param reasonCode - with which the broker ended the connection, if it gave one */
  disconnected(reasonCode: number | undefined): void {
    this.#connection = undefined
    this.#epoch++
    const unacknowledged = Array.from(this.#sent)
    const suspects = new Fifo<PendingMessage>()
    for (const parcel of [...unacknowledged, ...this.#suspects]) suspects.push(parcel)
    this.#suspects = suspects
    this.#sent = new Set()
    this.#notificationsInFlight = 0
    this.#groupSize = 1
    this.#isProbing = false
    const [only, ...others] = unacknowledged
    if (only !== undefined && others.length === 0) this.#suspect(only, reasonCode)
  }

  /** A message was alone in flight when the connection ended. */
  #suspect(parcel: PendingMessage, reasonCode: number | undefined): void {
    const isObjected = isObjection(reasonCode)
    parcel.losses++
    if (!isObjected && parcel.losses < MAX_LOSSES) return
    this.#suspects = this.#without(this.#suspects, suspect => suspect === parcel)
    const { message, done } = parcel
    const isAnswer = message.correlationData !== undefined
    // Without a word of the broker it may have been chance, and another notification may pass.
    if (isAnswer || isObjected) this.#poison.add(message)
    if (!isAnswer) this.#lost = true
    done(undefined)
    this.#dropped({ message, reasonCode, cause: 'connection-ended' })
  }

  #without(parcels: Fifo<PendingMessage>, isUnwanted: (parcel: PendingMessage) => boolean): Fifo<PendingMessage> {
    const others = new Fifo<PendingMessage>()
    for (const parcel of parcels) {
      if (isUnwanted(parcel)) this.#bytes -= parcel.bytes
      else others.push(parcel)
    }
    return others
  }

  #flush(): void {
    const connection = this.#connection
    if (connection === undefined) return
    this.#probe(connection)
    if (this.#isProbing) return
    while (this.#sent.size < connection.receiveMaximum) {
      const parcel = this.#waiting.shift(this.#notificationsInFlight >= MAX_NOTIFICATIONS_IN_FLIGHT)
      if (parcel === undefined) return
      this.#send(parcel, connection)
    }
  }

  /** Sends the next group of suspects when the one before is acknowledged. */
  #probe(connection: ConnectionInfo): void {
    while (this.#sent.size === 0 && this.#suspects.length > 0) {
      this.#isProbing = true
      const groupSize = Math.min(this.#groupSize, connection.receiveMaximum)
      this.#groupSize *= 2
      for (let i = 0; i < groupSize; i++) {
        const parcel = this.#suspects.shift()
        if (parcel !== undefined) this.#send(parcel, connection)
      }
    }
    if (this.#sent.size === 0) this.#isProbing = false
  }

  #send(parcel: PendingMessage, { maximumPacketSize }: ConnectionInfo): void {
    const { message, done, bytes, retain, isNotification } = parcel
    if (maximumPacketSize !== undefined && this.#session.sizeOf(message) > maximumPacketSize) {
      this.#bytes -= bytes
      if (isNotification) this.#lost = true
      done(undefined)
      this.#dropped({ message, reasonCode: undefined, cause: 'too-large' })
      return
    }
    this.#sent.add(parcel)
    if (isNotification) this.#notificationsInFlight++
    const epoch = this.#epoch
    const acknowledged: Done = refusal => {
      if (epoch !== this.#epoch || !this.#sent.delete(parcel)) return
      if (isNotification) this.#notificationsInFlight--
      const wasBusy = this.isBusy
      this.#bytes -= bytes
      done(refusal)
      if (refusal !== undefined && refusal.status !== NO_MATCHING_SUBSCRIBERS) {
        if (isNotification) this.#lost = true
        this.#dropped({ message, reasonCode: refusal.status, cause: 'rejected' })
      }
      this.#flush()
      if (wasBusy && !this.isBusy) this.#drained()
    }
    this.#session.publish(message, acknowledged, retain)
  }
}

/** What a queue has to know of a message. */
interface Queued {
  /** Client id of the receiver; '' for messages to no single client. */
  readonly receiver: string
  readonly isNotification: boolean
}

/**
 * One queue for each receiver. A client gets its answers and notifications in the order in which the store made them:
 * an answer that passed a notification would show a value before the changes that led to it. Receivers take turns, and
 * answers and notifications too: neither a flood of notifications nor a client that keeps asking holds up other clients.
 */
class ReceiverQueues<T extends Queued> {
  readonly #byReceiver = new Map<string, Fifo<T>>()
  /** Receivers whose next message is an answer, in their turn. */
  readonly #answered = new Fifo<string>()
  /** Receivers whose next message is a notification, in their turn. */
  readonly #notified = new Fifo<string>()
  /** Whether the message taken last was a notification. */
  #wasNotification = false

  push(message: T): void {
    const queue = this.#byReceiver.get(message.receiver)
    if (queue !== undefined) {
      queue.push(message)
      return
    }
    const fresh = new Fifo<T>()
    fresh.push(message)
    this.#byReceiver.set(message.receiver, fresh)
    this.#takeTurn(message)
  }

  /** Takes the next message; an answer if `onlyAnswers`. */
  shift(onlyAnswers: boolean): T | undefined {
    const canNotify = !onlyAnswers && this.#notified.length > 0
    this.#wasNotification = canNotify && (this.#answered.length === 0 || !this.#wasNotification)
    const receiver = (this.#wasNotification ? this.#notified : this.#answered).shift()
    const queue = receiver === undefined ? undefined : this.#byReceiver.get(receiver)
    const message = queue?.shift()
    const next = queue?.peek()
    if (next !== undefined) this.#takeTurn(next)
    else if (receiver !== undefined) this.#byReceiver.delete(receiver)
    return message
  }

  /** Takes all that match out, and returns them. */
  remove(matches: (message: T) => boolean): T[] {
    const removed: T[] = []
    const queues = Array.from(this.#byReceiver.values())
    this.#byReceiver.clear()
    this.#answered.clear()
    this.#notified.clear()
    for (const queue of queues)
      for (const message of queue) {
        if (matches(message)) removed.push(message)
        else this.push(message)
      }
    return removed
  }

  #takeTurn({ receiver, isNotification }: T): void {
    if (isNotification) this.#notified.push(receiver)
    else this.#answered.push(receiver)
  }
}

/** How many are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 1_000

/**
 * Messages over which the broker ended the connection. A request that was not acknowledged comes again and its answer would
 * end the next connection too, so an answer is known by its topic and correlation data, a notification by its topic.
 */
class PoisonMessages {
  readonly #digests = new Set<string>()

  add(message: Publish): void {
    this.#digests.add(digestOf(message))
    const [oldest] = this.#digests
    if (this.#digests.size > MAX_REMEMBERED && oldest !== undefined) this.#digests.delete(oldest)
  }

  has(message: Publish): boolean {
    return this.#digests.size > 0 && this.#digests.has(digestOf(message))
  }
}

/** Clients choose both parts, as long as they like. */
function digestOf({ topic, correlationData }: Publish): string {
  const hash = createHash('sha256').update(topic)
  if (correlationData !== undefined) hash.update('\0').update(correlationData)
  return hash.digest('base64')
}

/** Clients can cause drops as often as they like, and each report may become a line of a log, ms. */
const MIN_INTERVAL_MS = 1_000
/** Of a topic, characters. */
const LONGEST_TOPIC = 200

/** Reports messages that the broker did not take: one in a second, with the number of those that were not reported. */
export class DropReporter {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #report: (error: RequestRejectedError) => void
  #reportedAt = Number.NEGATIVE_INFINITY
  #unreported = 0

  constructor(clock: Pick<Clock, 'monotonic'>, report: (error: RequestRejectedError) => void) {
    this.#clock = clock
    this.#report = report
  }

  dropped(drop: Drop): void {
    const now = this.#clock.monotonic()
    if (now - this.#reportedAt < MIN_INTERVAL_MS) {
      this.#unreported++
      return
    }
    const others = this.#unreported === 0 ? '' : `; ${this.#unreported} more were dropped since the last report`
    this.#reportedAt = now
    this.#unreported = 0
    this.#report(new RequestRejectedError(drop.reasonCode ?? 0, messageOf(drop) + others))
  }
}

function messageOf({ message, reasonCode, cause }: Drop): string {
  const { topic, correlationData } = message
  const what = correlationData === undefined ? 'message' : 'response'
  const shown =
    topic.length > LONGEST_TOPIC ? `${topic.slice(0, LONGEST_TOPIC)}... (${topic.length} characters)` : topic
  const words = reasonCode === undefined ? 'without a reason' : `with ${reasonCode}, ${reasonName(reasonCode)}`
  const event = {
    'connection-ended': `The broker ended the connection ${words} over`,
    'too-large': 'The broker takes no packet as large as',
    rejected: `The broker rejected ${words}`,
  }[cause]
  return `${event} a ${what} to ${shown}, which was dropped; check which topics and sizes the broker allows`
}
