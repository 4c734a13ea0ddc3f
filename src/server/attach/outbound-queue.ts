import { createHash } from 'node:crypto'
import { isCauseOfLoss, isPacketRejected, reasonName } from '../../client/session/reasons.js'
import type { ConnectionInfo, Done, ServiceSession } from '../../client/session/session.js'
import type { Publish } from '../../core/mqtt5/packets.js'
import { noMatchingSubscribers } from '../../core/mqtt5/reason-codes.js'
import { Fifo } from '../../core/util/collections.js'
import { unlessRunning } from '../../core/util/deferred-tasks.js'
import { RequestRejectedError } from '../../core/util/errors.js'
import { RecentSet } from '../../core/util/recent-set.js'
import { messageSize } from './message-size.js'

export interface Handling {
  readonly retain?: boolean
  /** Whether the message is a response whose request is redelivered after an interruption. Default: `false`. */
  readonly isRepeatable?: boolean
  /** Whether the message is a notification. Responses and notifications alternate. Default: `false`. */
  readonly isNotification?: boolean
  /**
   * The client id of the receiver, whose messages stay in order. Default: '', for a message without a single receiver.
   */
  readonly receiver?: string
}

export interface Drop {
  readonly message: Publish
  /** The reason code of the broker, if any (MQTT 5.0, section 2.4). */
  readonly reasonCode: number | undefined
  readonly cause: 'connection-ended' | 'too-large' | 'rejected'
}

interface PendingMessage extends Required<Handling> {
  readonly message: Publish
  readonly done: Done
  readonly bytes: number
  /** The number of times the connection ended while only this message was in flight. */
  losses: number
}

/** The limit on the queue. While the queue is more than half full, no further requests are handled. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024
/** The limit on notifications in flight. More of them would delay responses in the connection and at the broker. */
const MAX_NOTIFICATIONS_IN_FLIGHT = 256

/**
 * Sends responses and notifications to the broker, in order for each receiver ({@link ReceiverQueues}). Respects the
 * broker's receive maximum, and resends messages without PUBACK after a reconnect if the session was resumed. Resent
 * messages get new packet ids, which brokers accept because they do not remember the packet ids of QoS 1.
 *
 * The broker may have closed the connection because of one message that has too many topic levels or bytes. So messages
 * are resent in groups that start with one message and double in size. The offending message is eventually alone in
 * flight, and is then dropped.
 */
export class OutboundQueue {
  readonly #session: Pick<ServiceSession, 'publish' | 'sizeOf'>
  readonly #onDrained: () => void
  readonly #onDropped: (drop: Drop) => void
  readonly #queues = new ReceiverQueues<PendingMessage>()
  #notificationsInFlight = 0
  /** Messages that were in flight when the connection ended and are not resent yet. */
  #suspects = new Fifo<PendingMessage>()
  #inFlight = new Set<PendingMessage>()
  #groupSize = 1
  /** Whether a group of suspects is in flight, during which no other message may be sent. */
  #isProbing = false
  readonly #poison = new PoisonMessages()
  #bytes = 0
  #connection: ConnectionInfo | undefined
  #epoch = 0
  #hasLostNotification = false

  /**
   * @param onDrained - called when the queue stops being busy
   * @param onDropped - called for each message that the broker does not accept
   */
  constructor(
    session: Pick<ServiceSession, 'publish' | 'sizeOf'>,
    onDrained: () => void,
    onDropped: (drop: Drop) => void = () => undefined,
  ) {
    this.#session = session
    this.#onDrained = onDrained
    this.#onDropped = onDropped
  }

  get isBusy(): boolean {
    return this.#bytes > MAX_QUEUED_BYTES / 2
  }

  /** Returns whether a notification may have been dropped since the last call, so that watchers may be stale. */
  takeNotificationLoss(): boolean {
    const hasLost = this.#hasLostNotification
    this.#hasLostNotification = false
    return hasLost
  }

  /** Returns the broker's maximum packet size in bytes if a message exceeds it. */
  exceededPacketSize(message: Publish): number | undefined {
    const maxBytes = this.#connection?.maximumPacketSize
    return maxBytes !== undefined && this.#session.sizeOf(message) > maxBytes ? maxBytes : undefined
  }

  /** Queues a message. Calls `done` on PUBACK, or when the message is dropped. */
  push(message: Publish, done: Done, handling: Handling = {}): void {
    const bytes = messageSize(message)
    if (this.#poison.has(message)) {
      done(undefined)
      return
    }
    if (this.#bytes + bytes > MAX_QUEUED_BYTES) {
      this.#hasLostNotification = true
      done(undefined)
      return
    }
    this.#bytes += bytes
    const { retain = false, isRepeatable = false, isNotification = false, receiver = '' } = handling
    this.#queues.push({ message, done, bytes, retain, isRepeatable, isNotification, receiver, losses: 0 })
    this.#flush()
  }

  /** Discards the notifications that await sending or resending and match. */
  discardNotifications(matches: (receiver: string, topic: string) => boolean): void {
    const wasBusy = this.isBusy
    const isUnwanted = ({ isNotification, receiver, message }: PendingMessage): boolean =>
      isNotification && matches(receiver, message.topic)
    this.#suspects = this.#without(this.#suspects, isUnwanted)
    for (const { bytes } of this.#queues.remove(isUnwanted)) this.#bytes -= bytes
    if (wasBusy && !this.isBusy) this.#onDrained()
  }

  onConnected(info: ConnectionInfo): void {
    this.#connection = info
    if (!info.sessionPresent) this.#suspects = this.#without(this.#suspects, () => true)
    // The broker redelivers the requests of repeatable responses, and the store answers them again.
    else for (const { bytes } of this.#queues.remove(({ isRepeatable }) => isRepeatable)) this.#bytes -= bytes
    this.#flush()
  }

  onDisconnected(reasonCode: number | undefined): void {
    this.#connection = undefined
    this.#epoch++
    const unacknowledged = Array.from(this.#inFlight)
    const suspects = new Fifo<PendingMessage>()
    for (const pending of [...unacknowledged, ...this.#suspects]) suspects.push(pending)
    this.#suspects = suspects
    this.#inFlight = new Set()
    this.#notificationsInFlight = 0
    this.#groupSize = 1
    this.#isProbing = false
    const [only, ...others] = unacknowledged
    if (only !== undefined && others.length === 0) this.#suspect(only, reasonCode)
  }

  #suspect(pending: PendingMessage, reasonCode: number | undefined): void {
    if (!isCauseOfLoss(++pending.losses, reasonCode)) return
    this.#suspects = this.#without(this.#suspects, suspect => suspect === pending)
    const { message, done } = pending
    const isResponse = message.correlationData !== undefined
    // Without a reason code, the connection may have ended by chance, so later notifications to the topic are not
    // dropped.
    if (isResponse || isPacketRejected(reasonCode)) this.#poison.add(message)
    if (!isResponse) this.#hasLostNotification = true
    done(undefined)
    this.#onDropped({ message, reasonCode, cause: 'connection-ended' })
  }

  #without(messages: Fifo<PendingMessage>, isUnwanted: (pending: PendingMessage) => boolean): Fifo<PendingMessage> {
    const others = new Fifo<PendingMessage>()
    for (const pending of messages) {
      if (isUnwanted(pending)) this.#bytes -= pending.bytes
      else others.push(pending)
    }
    return others
  }

  /** Sends queued messages. A message that the session rejects immediately makes room for the next one. */
  readonly #flush = unlessRunning(() => {
    for (let connection = this.#connection; connection !== undefined; connection = this.#connection) {
      this.#probe(connection)
      if (this.#isProbing || this.#inFlight.size >= connection.receiveMaximum) return
      const pending = this.#queues.shift(this.#notificationsInFlight >= MAX_NOTIFICATIONS_IN_FLIGHT)
      if (pending === undefined) return
      this.#send(pending)
    }
  })

  #probe(connection: ConnectionInfo): void {
    while (this.#inFlight.size === 0 && this.#suspects.length > 0) {
      this.#isProbing = true
      const groupSize = Math.min(this.#groupSize, connection.receiveMaximum)
      this.#groupSize *= 2
      for (let i = 0; i < groupSize; i++) {
        const pending = this.#suspects.shift()
        if (pending !== undefined) this.#send(pending)
      }
    }
    if (this.#inFlight.size === 0) this.#isProbing = false
  }

  #send(pending: PendingMessage): void {
    const { message, done, bytes, retain, isNotification } = pending
    if (this.exceededPacketSize(message) !== undefined) {
      this.#bytes -= bytes
      if (isNotification) this.#hasLostNotification = true
      done(undefined)
      this.#onDropped({ message, reasonCode: undefined, cause: 'too-large' })
      return
    }
    this.#inFlight.add(pending)
    if (isNotification) this.#notificationsInFlight++
    const epoch = this.#epoch
    const onAcknowledged: Done = refusal => {
      if (epoch !== this.#epoch || !this.#inFlight.delete(pending)) return
      if (isNotification) this.#notificationsInFlight--
      const wasBusy = this.isBusy
      this.#bytes -= bytes
      done(refusal)
      if (refusal !== undefined && refusal.status !== noMatchingSubscribers) {
        if (isNotification) this.#hasLostNotification = true
        this.#onDropped({ message, reasonCode: refusal.status, cause: 'rejected' })
      }
      this.#flush()
      if (wasBusy && !this.isBusy) this.#onDrained()
    }
    this.#session.publish(message, onAcknowledged, retain)
  }
}

interface Routed {
  readonly receiver: string
  readonly isNotification: boolean
}

/**
 * Keeps one queue per receiver. A client gets responses and notifications in the order in which the store made them,
 * because a response that overtook a notification would show a value before the changes that led to it. Receivers are
 * served round-robin, and responses alternate with notifications, so that neither many notifications nor one busy
 * client delay other clients.
 */
class ReceiverQueues<T extends Routed> {
  readonly #byReceiver = new Map<string, Fifo<T>>()
  readonly #responseTurns = new Fifo<string>()
  readonly #notificationTurns = new Fifo<string>()
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
    this.#enqueueReceiver(message)
  }

  shift(onlyResponses: boolean): T | undefined {
    const canNotify = !onlyResponses && this.#notificationTurns.length > 0
    this.#wasNotification = canNotify && (this.#responseTurns.length === 0 || !this.#wasNotification)
    const receiver = (this.#wasNotification ? this.#notificationTurns : this.#responseTurns).shift()
    const queue = receiver === undefined ? undefined : this.#byReceiver.get(receiver)
    const message = queue?.shift()
    const next = queue?.peek()
    if (next !== undefined) this.#enqueueReceiver(next)
    else if (receiver !== undefined) this.#byReceiver.delete(receiver)
    return message
  }

  remove(matches: (message: T) => boolean): T[] {
    const removed: T[] = []
    const queues = Array.from(this.#byReceiver.values())
    this.#byReceiver.clear()
    this.#responseTurns.clear()
    this.#notificationTurns.clear()
    for (const queue of queues)
      for (const message of queue) {
        if (matches(message)) removed.push(message)
        else this.push(message)
      }
    return removed
  }

  #enqueueReceiver({ receiver, isNotification }: T): void {
    if (isNotification) this.#notificationTurns.push(receiver)
    else this.#responseTurns.push(receiver)
  }
}

const MAX_REMEMBERED = 1_000

/**
 * Remembers the messages because of which the broker closed the connection. An unacknowledged request is redelivered,
 * and its response would end the next connection. A response is identified by topic and correlation data, a
 * notification by its topic.
 */
class PoisonMessages {
  readonly #digests = new RecentSet<string>(MAX_REMEMBERED)

  add(message: Publish): void {
    this.#digests.add(digestOf(message))
  }

  has(message: Publish): boolean {
    return !this.#digests.isEmpty && this.#digests.has(digestOf(message))
  }
}

/** Returns a digest of both parts, because clients choose their contents and length. */
function digestOf({ topic, correlationData }: Publish): string {
  const hash = createHash('sha256').update(topic)
  if (correlationData !== undefined) hash.update('\0').update(correlationData)
  return hash.digest('base64')
}

const MAX_TOPIC_LENGTH = 200

/** Returns the error of a dropped message. @param withheld - the number of earlier drops that were not reported */
export function dropError(drop: Drop, withheld: number): RequestRejectedError {
  const others = withheld === 0 ? '' : `; ${withheld} more were dropped since the last report`
  return new RequestRejectedError(drop.reasonCode ?? 0, describeDrop(drop) + others)
}

function describeDrop({ message, reasonCode, cause }: Drop): string {
  const { topic, correlationData } = message
  const kind = correlationData === undefined ? 'message' : 'response'
  const shownTopic =
    topic.length > MAX_TOPIC_LENGTH ? `${topic.slice(0, MAX_TOPIC_LENGTH)}... (${topic.length} characters)` : topic
  const reasonText =
    reasonCode === undefined ? 'no reason code' : `reason code ${reasonCode}, ${reasonName(reasonCode)}`
  const event = {
    'connection-ended': `The broker closed the connection (${reasonText}) because of`,
    'too-large': 'The broker accepts no packet as large as',
    rejected: `The broker rejected (${reasonText})`,
  }[cause]
  return `${event} a ${kind} to ${shownTopic}, which was dropped; check which topics and sizes the broker allows`
}
