import { createHmac, randomBytes } from 'node:crypto'
import type { Subscription } from 'rxjs'
import type { Clock } from '../../../core/util/clock.js'
import { Fifo } from '../../../core/util/collections.js'
import { Timer } from '../../../core/util/timer.js'
import type { LogEntry } from '../../engine/entry.js'
import type { MessageKind } from './node-message.js'
import type { Publication, Stream } from './stream.js'

export interface PendingMessage {
  readonly kind: MessageKind
  readonly body: Uint8Array
  readonly entry?: LogEntry | undefined
}

/** A message that was sent but not yet seen in the stream. */
interface InFlightMessage extends PendingMessage {
  /** The message itself, or the message of which it is a piece. */
  readonly whole: PendingMessage
  readonly number: number
  /** The time when the message was first sent, in monotonic ms. */
  readonly firstSentAt: number
  /**
   * The number of times that the message was seen out of order. Each attempt gets a new message id, because the stream
   * would drop a repeated id as a duplicate.
   */
  attempt: number
  /** The last position seen in the stream when this attempt was first published. */
  positionWhenSent: number
  publication: Subscription | undefined
}

interface Epoch {
  readonly id: string
  readonly messageIds: MessageIds
  readonly inFlight: Fifo<InFlightMessage>
  /** Whether the entries that do not reach the stream before the next epoch are sent again in it. */
  isResent: boolean
}

export interface LogPublisherHost {
  readonly clock: Clock
  readonly random: () => number
  readonly nodeId: string
  /** Returns the maximum size in bytes of a message's body. A larger entry is sent in pieces. */
  readonly maxBodyBytes: () => number
  /** Encodes a message with the node's current state. */
  encode(message: PendingMessage, epoch: string, number: number): Uint8Array
  /** Returns the position of the last message seen in the stream. */
  readonly position: () => number
  onStored(position: number): void
  /**
   * Called when a new message receives a position that was already seen, because the stream lost messages or was
   * replaced.
   */
  onRolledBack(position: number): void
  /** Called when a message in flight has become too large to be sent, so that a new epoch must resend the entries. */
  onLimitLowered(): void
  onError(error: unknown): void
}

export const MAX_IN_FLIGHT = 16
/** The delay in ms before messages are sent again. */
const RETRY_DELAY_MS = { initial: 20, max: 1_000 }

/**
 * Sends a node's messages in order, up to 16 at a time, and resends them until they appear in the stream. Only the
 * stream decides a message's outcome. The stream's acknowledgement merely makes an early resend unnecessary.
 */
export class LogPublisher {
  readonly #stream: Stream
  readonly #host: LogPublisherHost
  #queue = new Fifo<PendingMessage>()
  /** The size in bytes of the pieces of the first queued message that are already in flight. */
  #cutBytes = 0
  /** The epochs. The last epoch is current, but messages of earlier epochs may still arrive in the stream. */
  #epochs: Epoch[] = []
  #number = 1
  readonly #resend: Timer
  #isStopped = false

  constructor(stream: Stream, host: LogPublisherHost) {
    this.#stream = stream
    this.#host = host
    this.#resend = new Timer(host.clock, { ...RETRY_DELAY_MS, random: host.random })
  }

  get epochId(): string {
    return this.#epochs.at(-1)?.id ?? ''
  }

  /** Returns whether the first message of the current epoch was seen. */
  get isEstablished(): boolean {
    return this.#epochs.length === 1 && this.#epochs[0]?.inFlight.peek()?.kind !== 'start'
  }

  /** Returns whether the first message of any epoch was seen. */
  get hasBeenEstablished(): boolean {
    return this.#epochs.length > 1 || this.isEstablished
  }

  /** Returns whether nothing is queued or in flight. */
  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#epochs.every(({ inFlight }) => inFlight.length === 0)
  }

  /** The age in ms of the oldest message in flight. */
  get oldestAgeMs(): number {
    const oldest = this.#epochs.at(-1)?.inFlight.peek()
    return oldest === undefined ? 0 : this.#host.clock.monotonic() - oldest.firstSentAt
  }

  /**
   * Starts a new epoch, in which queued messages are sent. Messages in flight are no longer resent.
   *
   * @param resends - whether the entries in flight are sent in the new epoch if they have not reached the stream before
   */
  startEpoch(epoch: string, resends = false): void {
    for (const each of this.#epochs) {
      for (const message of toArray(each.inFlight)) message.publication?.unsubscribe()
      each.isResent &&= resends
    }
    const last = this.#epochs.at(-1)
    if (last !== undefined) last.isResent = resends
    this.#abandonPartialEntry()
    this.#epochs.push({ id: epoch, messageIds: messageIds(), inFlight: new Fifo(), isResent: false })
    this.#number = 1
    this.#requeue([{ kind: 'start', body: new Uint8Array(0) }])
    this.#sendQueued()
  }

  enqueue(message: PendingMessage): void {
    this.#queue.push(message)
    this.#sendQueued()
  }

  hasEpoch(epoch: string): boolean {
    return this.#epochs.some(({ id }) => id === epoch)
  }

  /**
   * Confirms a message seen in the stream. Returns the message, and the entries of earlier epochs, because those
   * entries can no longer be committed.
   */
  acknowledge(
    epoch: string,
    number: number,
  ): { readonly message: PendingMessage | undefined; readonly abandoned: readonly LogEntry[] } {
    const index = this.#epochs.findIndex(({ id }) => id === epoch)
    const ended = this.#epochs.slice(0, index)
    const abandoned = ended.flatMap(({ isResent, inFlight }) => (isResent ? [] : entriesOf(inFlight)))
    this.#epochs = this.#epochs.slice(index)
    this.#requeue(ended.flatMap(({ isResent, inFlight }) => (isResent ? wholeEntriesOf(inFlight) : [])))
    const inFlight = this.#epochs[0]?.inFlight
    if (inFlight?.peek()?.number !== number) return { message: undefined, abandoned }
    const message = inFlight.shift()
    message?.publication?.unsubscribe()
    this.#resend.reset()
    this.#sendQueued()
    return { message, abandoned }
  }

  retryOutOfOrder(epoch: string, number: number): void {
    if (epoch !== this.epochId) return
    const message = toArray(this.#epochs.at(-1)?.inFlight).find(each => each.number === number)
    if (message !== undefined) this.#retryAsNew(message)
  }

  /** Stops sending. Returns the entries whose outcome is unknown. */
  stop(): LogEntry[] {
    this.#isStopped = true
    this.#resend.cancel()
    const unknown = this.#epochs.flatMap(({ inFlight }) => {
      for (const message of toArray(inFlight)) message.publication?.unsubscribe()
      return entriesOf(inFlight)
    })
    this.#epochs = []
    return [...unknown, ...entriesOf(this.#queue)]
  }

  /** Puts messages before all queued messages. */
  #requeue(messages: readonly PendingMessage[]): void {
    if (messages.length === 0) return
    const queued = this.#queue
    this.#queue = new Fifo()
    for (const message of [...messages, ...queued]) this.#queue.push(message)
  }

  /**
   * Drops the remaining pieces of an entry that is already partly in flight, because the next epoch must start with a
   * whole entry.
   */
  #abandonPartialEntry(): void {
    if (this.#cutBytes === 0) return
    this.#cutBytes = 0
    const whole = this.#queue.shift()
    if (whole === undefined) return
    const neverSent = { number: 0, firstSentAt: 0, attempt: 0, positionWhenSent: 0, publication: undefined }
    this.#epochs.at(-1)?.inFlight.push({ ...whole, whole, ...neverSent })
  }

  #sendQueued(): void {
    const epoch = this.#epochs.at(-1)
    while (!this.#isStopped && epoch !== undefined && epoch.inFlight.length < this.#windowLength) {
      const next = this.#cutNext()
      if (next === undefined) return
      const message: InFlightMessage = {
        ...next,
        number: this.#number++,
        firstSentAt: this.#host.clock.monotonic(),
        attempt: 0,
        positionWhenSent: this.#host.position(),
        publication: undefined,
      }
      epoch.inFlight.push(message)
      // While a resend is scheduled, this message would arrive before the message to resend, and thus out of order.
      if (!this.#resend.isSet) this.#publish(epoch, message)
    }
  }

  /** The number of messages that may be in flight. Entries of an earlier epoch that are resent come first. */
  get #windowLength(): number {
    return this.#epochs.some(({ isResent }) => isResent) ? 1 : MAX_IN_FLIGHT
  }

  /** Removes the first queued message, or cuts its next piece off if it is too large to be sent. */
  #cutNext(): (PendingMessage & Pick<InFlightMessage, 'whole'>) | undefined {
    const whole = this.#queue.peek()
    if (whole === undefined) return undefined
    const start = this.#cutBytes
    const end = start + this.#host.maxBodyBytes()
    const body = whole.body.subarray(start, end)
    this.#cutBytes = end < whole.body.length ? end : 0
    if (this.#cutBytes > 0) return { kind: 'piece', body, whole }
    this.#queue.shift()
    return { ...whole, body, whole }
  }

  #publish({ id, messageIds }: Epoch, message: InFlightMessage): void {
    const bytes = this.#host.encode(message, id, message.number)
    message.publication?.unsubscribe()
    const { attempt } = message
    message.publication = this.#stream.publish(bytes, messageIds(message.number, attempt)).subscribe({
      next: publication => {
        // If the attempts differ, the message was seen out of order before its acknowledgement arrived.
        if (attempt === message.attempt) this.#handlePublication(message, publication)
      },
      error: error => this.#handleError(error),
    })
  }

  #handlePublication(message: InFlightMessage, { position, isDuplicate }: Publication): void {
    if (!isDuplicate && position <= message.positionWhenSent) this.#host.onRolledBack(position)
    // Another message used up this id, because all messages up to that position were already seen.
    else if (isDuplicate && position <= this.#host.position()) this.#retryAsNew(message)
    else {
      this.#host.onStored(position)
      // If this message is at that position, the stream delivers it before the resend.
      if (isDuplicate) this.#scheduleResend()
    }
  }

  #retryAsNew(message: InFlightMessage): void {
    message.attempt++
    message.positionWhenSent = this.#host.position()
    this.#scheduleResend()
  }

  #handleError(error: unknown): void {
    this.#host.onError(error)
    this.#scheduleResend()
  }

  #scheduleResend(): void {
    if (this.#isStopped) return
    this.#resend.retry(() => {
      const epoch = this.#epochs.at(-1)
      const messages = toArray(epoch?.inFlight)
      const maxBytes = this.#host.maxBodyBytes()
      if (messages.some(({ body }) => body.length > maxBytes)) this.#host.onLimitLowered()
      else if (epoch !== undefined) for (const message of messages) this.#publish(epoch, message)
    })
  }
}

const toArray = <T>(items: Fifo<T> | undefined): T[] => Array.from(items ?? [])

const entriesOf = (messages: Fifo<PendingMessage>): LogEntry[] =>
  toArray(messages).flatMap(({ entry }) => (entry === undefined ? [] : [entry]))

/** Returns the messages with entries, of which a piece at least is in flight. */
const wholeEntriesOf = (messages: Fifo<InFlightMessage>): PendingMessage[] =>
  Array.from(new Set(toArray(messages).map(({ whole }) => whole))).filter(({ entry }) => entry !== undefined)

/** Returns a message's id by its number and attempt. The stream drops duplicates by this id. */
export type MessageIds = (number: number, attempt: number) => string

/**
 * Creates the message ids of one epoch. The ids depend on a key that never leaves the process, so another publisher
 * cannot predict the next id and use it up.
 */
export function messageIds(key: Uint8Array = randomBytes(32)): MessageIds {
  return (number, attempt) => createHmac('sha256', key).update(`${number}:${attempt}`).digest('base64url').slice(0, 22)
}
