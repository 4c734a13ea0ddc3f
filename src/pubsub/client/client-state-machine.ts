import { type ClosedError, PayloadError, reason, StateStoreError } from '../../core/util/errors.js'
import type { DownFrame, FrameData, UnknownFrame, UnreadableMessageError, UpFrame } from '../wire/frames.js'
import type { Action, MachineEvent, MachineSettings, RequestOutcome, SendRequest } from './events.js'
import type { InFlightRequest } from './in-flight-request.js'
import { Lifecycle } from './lifecycle.js'
import { Memberships } from './memberships.js'
import { SendQueue } from './send-queue.js'

/**
 * The client side of the reliable subprotocols as a pure state machine that maps events to actions. It uses neither
 * sockets nor timers nor RxJS, and the caller provides the time, so a simulation can run years of bad networks in
 * seconds. All times are in ms.
 *
 * The driver performs the actions in order and sends a `tick` at {@link deadline}.
 *
 * @example
 * ```ts
 * const machine = new Machine(settings)
 * for (const action of machine.handle(
 *   { type: 'start' },
 *   clock.monotonic(),
 * ))
 *   carryOut(action)
 * ```
 */
export class ClientStateMachine {
  readonly #settings: MachineSettings
  readonly #sequences = new SequenceTracker()
  readonly #sendQueue: SendQueue
  readonly #memberships: Memberships
  readonly #lifecycle: Lifecycle
  readonly #inFlight = new Map<SendRequest, InFlightRequest>()
  #actions: Action[] = []
  #closed: ClosedError | undefined

  constructor(settings: MachineSettings) {
    const act = (action: Action): void => {
      this.#actions.push(action)
    }
    this.#settings = settings
    this.#sendQueue = new SendQueue(settings, data => act({ type: 'transmit', data }))
    this.#memberships = new Memberships(this.#sendQueue, settings.timeout, act)
    this.#lifecycle = new Lifecycle(settings, {
      act,
      onResumed: now => this.#onResumed(now),
      nextId: () => this.#sendQueue.nextId(),
      onSuspended: () => this.#onSuspended(),
      onSessionLost: (since, now) => this.#onSessionLost(since, now),
      onStopped: (error, now) => this.#onStopped(error, now),
    })
  }

  /** The time when the next `tick` is needed, or `Infinity` if none is. Earlier ticks are harmless. */
  get deadline(): number {
    return Math.min(this.#lifecycle.deadline, this.#sequences.deadline, this.#sendQueue.deadline)
  }

  /** Applies an event and returns the resulting actions. Never throws, regardless of what the peer sends. */
  handle(event: MachineEvent, now: number): readonly Action[] {
    this.#apply(event, now)
    const sequenceId = this.#sequences.takeDueAck(now)
    if (sequenceId !== undefined) this.#transmit({ type: 'sequenceAck', sequenceId })
    const actions = this.#actions
    this.#actions = []
    return actions
  }

  #apply(event: MachineEvent, now: number): void {
    switch (event.type) {
      case 'received':
        this.#onData(event.link, event.data, now)
        break
      case 'send':
        this.#send(event.request, now)
        break
      case 'forget':
        this.#forget(event.request)
        break
      case 'join':
        this.#memberships.join(event.group, event.member, now)
        break
      case 'leave':
        this.#memberships.leave(event.group, now)
        break
      case 'tick':
        this.#lifecycle.tick(now)
        this.#sendQueue.tick(now)
        break
      case 'opened':
        this.#lifecycle.onOpened(event.link, now)
        break
      case 'closed':
        this.#lifecycle.onClosed(event.link, event.code, event.reason, now)
        break
      case 'url':
        this.#lifecycle.onUrl(event.link, event.url, now)
        break
      case 'urlFailed':
        this.#lifecycle.onUrlFailed(event.link, event.error, now)
        break
      case 'woke':
        this.#lifecycle.onWake(now)
        break
      case 'start':
        this.#lifecycle.start(now)
        break
      case 'close':
        this.#lifecycle.close(now)
        break
    }
  }

  #onData(link: number, data: FrameData, now: number): void {
    if (!this.#lifecycle.acceptsData(link, now)) return
    const frame = this.#decode(data)
    const isFault = frame instanceof StateStoreError
    if (isFault || (frame.type !== 'disconnected' && frame.type !== 'connected')) this.#lifecycle.confirmRecovery(now)
    // The sequence id counts even if the other members of the frame are not understood.
    const sequenceId = 'sequenceId' in frame ? frame.sequenceId : undefined
    if (sequenceId !== undefined && !this.#sequences.record(sequenceId, data.length, now)) return
    if (isFault) this.#actions.push({ type: 'report', error: frame })
    else this.#onFrame(frame, now)
  }

  #decode(data: FrameData): DownFrame | UnknownFrame | UnreadableMessageError | StateStoreError {
    try {
      return this.#settings.codec.decode(data)
    } catch (cause) {
      return cause instanceof StateStoreError ? cause : new PayloadError(reason(cause), { cause })
    }
  }

  #onFrame(frame: DownFrame | UnknownFrame, now: number): void {
    switch (frame.type) {
      case 'groupMessage': {
        const { group, fromUserId, sequenceId, payload } = frame
        this.#memberships.onMessage(group)
        this.#actions.push({ type: 'groupMessage', message: { group, fromUserId, sequenceId, ...payload } })
        break
      }
      case 'serverMessage': {
        const { sequenceId, payload } = frame
        this.#actions.push({ type: 'serverMessage', message: { sequenceId, ...payload } })
        break
      }
      case 'ack':
        this.#lifecycle.onAck(frame.ackId)
        this.#sendQueue.onAck(frame.ackId, frame.success, frame.error, now)
        break
      case 'connected':
        this.#lifecycle.onConnected(frame, now)
        break
      case 'disconnected':
        this.#lifecycle.onDisconnected(frame.reason)
        break
      case 'pong':
        this.#lifecycle.onPong()
        break
      case 'unknown':
    }
  }

  #send(request: SendRequest, now: number): void {
    const onSettled = (outcome: RequestOutcome): void => {
      this.#inFlight.delete(request)
      this.#actions.push({ type: 'settled', request, outcome })
    }
    if (this.#closed) {
      onSettled({ ok: false, error: this.#closed })
      return
    }
    const inFlight = this.#sendQueue.post({ ...request, urgent: false, onSettled: onSettled }, now)
    if (inFlight && inFlight.state !== 'settled') this.#inFlight.set(request, inFlight)
  }

  #forget(request: SendRequest): void {
    const inFlight = this.#inFlight.get(request)
    if (inFlight === undefined) return
    this.#inFlight.delete(request)
    this.#sendQueue.forget(inFlight)
  }

  // Memberships resume before messages, because a sender may expect to receive its next message from its group.
  #onResumed(now: number): void {
    this.#sequences.resume(now)
    this.#memberships.resume(now)
    this.#sendQueue.resume(now)
  }

  #onSuspended(): void {
    this.#sequences.suspend()
    this.#memberships.suspend()
    this.#sendQueue.suspend()
  }

  #onSessionLost(since: number, now: number): void {
    this.#sequences.reset()
    this.#memberships.onSessionLost(since)
    this.#sendQueue.onSessionLost(now)
  }

  #onStopped(error: ClosedError, now: number): void {
    this.#closed = error
    this.#onSuspended()
    this.#memberships.close()
    this.#sendQueue.close(error, now)
  }

  #transmit(frame: UpFrame): void {
    this.#actions.push({ type: 'transmit', data: this.#settings.codec.encode(frame) })
  }
}

/** The numbers of messages and bytes, and the delay in ms, after which a sequence ack is sent. */
const ACK_AFTER_MESSAGES = 100
const ACK_AFTER_BYTES = 1024 * 1024
const ACK_DELAY_MS = 1_000

/**
 * Tracks the received messages of a session, and when to acknowledge them. A hub ends a session with 1,000 messages or
 * 16 MB unacknowledged ("Limits of reliable clients"). The tracker acknowledges by count, bytes and time, and so stays
 * well below that limit in any burst. Pure. All times are in ms.
 */
export class SequenceTracker {
  #largestId = 0n
  #count = 0
  #bytes = 0
  #ackAt = Number.POSITIVE_INFINITY

  get deadline(): number {
    return this.#ackAt
  }

  /**
   * Records a sequence id before its message is processed. Returns whether the id is new. A message with an id up to
   * the largest one was redelivered, and must only be acknowledged again ("Subscriber": record the largest, drop the
   * rest).
   */
  record(sequenceId: bigint, size: number, now: number): boolean {
    const isNew = sequenceId > this.#largestId
    if (isNew) this.#largestId = sequenceId
    this.#count++
    this.#bytes += size
    this.#ackAt =
      this.#count >= ACK_AFTER_MESSAGES || this.#bytes >= ACK_AFTER_BYTES
        ? now
        : Math.min(this.#ackAt, now + ACK_DELAY_MS)
    return isNew
  }

  /** Returns the id to acknowledge if an ack is due. The id covers all earlier ids. */
  takeDueAck(now: number): bigint | undefined {
    if (this.#ackAt > now) return undefined
    this.#clear()
    return this.#largestId
  }

  /** Schedules an ack for the recovered socket, because the last ack may have been lost with the previous socket. */
  resume(now: number): void {
    this.#clear()
    if (this.#largestId > 0n) this.#ackAt = now
  }

  suspend(): void {
    this.#clear()
  }

  reset(): void {
    this.#clear()
    this.#largestId = 0n
  }

  #clear(): void {
    this.#count = 0
    this.#bytes = 0
    this.#ackAt = Number.POSITIVE_INFINITY
  }
}
