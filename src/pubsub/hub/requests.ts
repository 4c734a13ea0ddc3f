import { isBytes } from '../../core/util/built-in-types.js'
import { checkArgument, checkObject } from '../../core/util/check.js'
import { ArgumentError, formatValue, PayloadError, reason } from '../../core/util/errors.js'
import type { AckError, NewerCall, Payload, UnknownFrame, UpFrame } from '../wire/frames.js'
import { type Backpressure, shouldWaitFor } from './backpressure.js'
import type { EventQueue } from './event-queue.js'
import type { HubLink } from './hub-link.js'
import { type HubSession, MAX_UNACKED_BYTES } from './hub-session.js'
import { MAX_GROUPS } from './identity.js'
import { type GroupAction, PERMISSION_FOR } from './permissions.js'
import type { SessionIndex } from './session-index.js'
import type { DataFrame, NumberedFrame, SharedCodec } from './shared-codec.js'

/** The acks for rejected requests. (JSON subprotocol reference, "Ack response".) */
const REJECTIONS = {
  duplicate: { name: 'Duplicate', message: 'A request with this ackId was processed already' },
  tooManyGroups: {
    name: 'BadRequest',
    message: `Limit of ${MAX_GROUPS} groups per connection, or of all groups per user, reached`,
  },
  join: { name: 'Forbidden', message: 'The connection may not join or leave this group' },
  send: { name: 'Forbidden', message: 'The connection may not send to this group' },
  newer: { name: 'NotSupported', message: 'This hub does not support invocations, streams or group states' },
} as const satisfies Record<string, AckError>

type ClientRequest = Extract<UpFrame, { ackId?: bigint | undefined }>

type GroupRequest = Exclude<ClientRequest, { type: 'event' }>
type PublishRequest = Extract<ClientRequest, { type: 'sendToGroup' }>

/** The result of a request that was not processed because the sender must wait. */
const LATER = 'later'

type RejectionOrLater = AckError | typeof LATER | undefined

export interface GroupOperations {
  readonly deliver: (
    targets: ReadonlySet<HubSession>,
    frame: DataFrame,
    now: number,
    excluded: ReadonlySet<string> | undefined,
  ) => void
  readonly join: (session: HubSession, group: string) => boolean
  readonly leave: (session: HubSession, group: string) => void
  /** Returns the application's decision, which takes precedence over the session's permissions. */
  readonly allows: (session: HubSession, action: GroupAction, group: string) => boolean | undefined
}

/**
 * Handles requests of clients. An ack means that a request is done. A message is done when it is queued for every
 * receiver. (Client specification, "Acknowledgements" and "Deduplication".)
 */
export class Requests {
  readonly #sessionIndex: SessionIndex
  readonly #events: EventQueue
  readonly #backpressure: Backpressure
  readonly #operations: GroupOperations

  constructor(sessionIndex: SessionIndex, events: EventQueue, backpressure: Backpressure, operations: GroupOperations) {
    this.#sessionIndex = sessionIndex
    this.#events = events
    this.#backpressure = backpressure
    this.#operations = operations
  }

  /**
   * Handles a frame. Returns `false` if the frame was not accepted because the sender must wait.
   *
   * @param link - link of the session
   * @param size - size of the frame in bytes or characters
   */
  handle(
    session: HubSession,
    link: HubLink,
    frame: UpFrame | NewerCall | UnknownFrame,
    size: number,
    now: number,
  ): boolean {
    switch (frame.type) {
      case 'unknown':
        return true
      case 'newerCall':
        rejectCall(session, frame)
        return true
      case 'ping':
        session.sendPong()
        return true
      case 'sequenceAck':
        session.acknowledge(frame.sequenceId)
        return true
      case 'event':
        if (!this.#handleDuplicate(session, frame)) this.#events.submit(session, frame, size, now)
        return true
      default:
        return this.#handleDuplicate(session, frame) || this.#handleGroupRequest(session, link, frame, now)
    }
  }

  /** Handles a request that was processed before or is in progress. Returns whether the request was one of these. */
  #handleDuplicate(session: HubSession, { ackId }: ClientRequest): boolean {
    if (ackId === undefined) return false
    if (this.#events.handleDuplicate(session, ackId)) return true
    if (!session.recentIds.has(ackId)) return false
    session.acknowledgeRequest(ackId, REJECTIONS.duplicate)
    return true
  }

  #handleGroupRequest(session: HubSession, link: HubLink, request: GroupRequest, now: number): boolean {
    const outcome = this.#perform(session, link, request, now)
    if (outcome === LATER) return false
    session.acknowledgeRequest(request.ackId, outcome)
    return true
  }

  #perform(session: HubSession, link: HubLink, request: GroupRequest, now: number): RejectionOrLater {
    const { type, group } = request
    if (type === 'sendToGroup') {
      return this.#allows(session, 'send', group) ? this.#publish(session, link, request, now) : REJECTIONS.send
    }
    if (!this.#allows(session, type === 'joinGroup' ? 'join' : 'leave', group)) return REJECTIONS.join
    if (type === 'joinGroup') return this.#operations.join(session, group) ? undefined : REJECTIONS.tooManyGroups
    this.#operations.leave(session, group)
    return undefined
  }

  #allows(session: HubSession, action: GroupAction, group: string): boolean {
    return this.#operations.allows(session, action, group) ?? session.permissions.allows(PERMISSION_FOR[action], group)
  }

  #publish(
    session: HubSession,
    link: HubLink,
    { group, payload, noEcho }: PublishRequest,
    now: number,
  ): RejectionOrLater {
    const targets = this.#sessionIndex.ofGroup(group)
    const excluded = noEcho ? new Set([session.connectionId]) : undefined
    const frame = { type: 'groupMessage', group, fromUserId: session.userId, payload } as const
    try {
      const full = sessionsWithoutRoom(targets, frame, excluded)
      if (full.length > 0 && this.#backpressure.holdBefore(session, link, full, now)) return LATER
      this.#operations.deliver(targets, frame, now, excluded)
      return undefined
    } catch (error) {
      return { name: 'BadRequest', message: reason(error) }
    }
  }
}

/** Rejects an unsupported call, so that the client does not have to wait for a timeout. */
function rejectCall(session: HubSession, { answer, id }: NewerCall): void {
  if (answer === 'ack') session.acknowledgeRequest(id, REJECTIONS.newer)
  else session.send({ type: answer, id, error: REJECTIONS.newer })
}

/** The options of a message that the server sends. */
export interface MessageOptions {
  /** The type of the data. Default: `binary` for a `Uint8Array`, `json` otherwise. */
  readonly dataType?: Payload['dataType'] | undefined
}

/** The options of an application's message to several connections. */
export interface SendOptions extends MessageOptions {
  /** The ids of connections that are excluded. Default: none. */
  readonly exclude?: readonly string[] | undefined
}

/** Converts an application's data to a payload. Throws {@link ArgumentError} if the data does not match its type. */
export function payloadOf(data: unknown, options: MessageOptions = {}): Payload {
  checkObject('options', options)
  const { dataType = isBytes(data) ? 'binary' : 'json' } = options
  if (dataType === 'json') return { dataType, data }
  if (dataType === 'text' && typeof data === 'string') return { dataType, data }
  if ((dataType === 'binary' || dataType === 'protobuf') && isBytes(data)) return { dataType, data }
  throw new ArgumentError(`Expected data of type ${formatValue(dataType)}, got a ${typeof data}`)
}

export function checkExcluded({ exclude }: SendOptions): ReadonlySet<string> | undefined {
  if (exclude === undefined) return undefined
  const isList = Array.isArray(exclude) && exclude.every(id => typeof id === 'string')
  checkArgument(isList, '`exclude` to be an array of connection ids', exclude)
  return new Set(exclude)
}

export interface FanOutResult {
  readonly deliveries: number
  readonly overflowed: readonly HubSession[]
  /** The lagging sessions for which the sender should wait. */
  readonly lagging: readonly HubSession[]
}

/**
 * Queues a message for all targets, encoded once per codec. If the message cannot be encoded, throws and queues
 * nothing.
 *
 * @param excluded - ids of connections that do not receive the message
 */
export function fanOut(
  targets: ReadonlySet<HubSession>,
  frame: DataFrame,
  now: number,
  excluded: ReadonlySet<string> | undefined,
): FanOutResult {
  const encoded = new Map<SharedCodec, NumberedFrame>()
  for (const { codec } of targets) if (!encoded.has(codec)) encoded.set(codec, encode(codec, frame))
  let deliveries = 0
  const group = frame.type === 'groupMessage' ? frame.group : undefined
  const overflowed: HubSession[] = []
  const lagging: HubSession[] = []
  for (const session of targets) {
    const message = encoded.get(session.codec)
    if (message === undefined || excluded?.has(session.connectionId)) continue
    session.deliver(message, now)
    deliveries++
    if (session.hasOverflowed) overflowed.push(session)
    else if (group !== undefined && shouldWaitFor(session, group)) lagging.push(session)
  }
  return { deliveries, overflowed, lagging }
}

/**
 * Returns the lagging sessions that a message would overflow. Throws if the message cannot be encoded.
 *
 * @param excluded - ids of connections that do not receive the message
 */
function sessionsWithoutRoom(
  targets: ReadonlySet<HubSession>,
  frame: Extract<DataFrame, { type: 'groupMessage' }>,
  excluded: ReadonlySet<string> | undefined,
): readonly HubSession[] {
  const encoded = new Map<SharedCodec, NumberedFrame>()
  const full: HubSession[] = []
  for (const session of targets) {
    if (!shouldWaitFor(session, frame.group) || excluded?.has(session.connectionId)) continue
    const message = encoded.get(session.codec) ?? encode(session.codec, frame)
    encoded.set(session.codec, message)
    if (!session.hasRoomFor(message)) full.push(session)
  }
  return full
}

/** Encodes a message. Throws if the message cannot be encoded or exceeds the size that a session can hold. */
export function encode(codec: SharedCodec, frame: DataFrame): NumberedFrame {
  const message = codec.encodeOnce(frame)
  // Such a message would end every session for which it is queued.
  if (message.sizeAt(1) > MAX_UNACKED_BYTES) {
    throw new PayloadError(`Expected a message of at most ${MAX_UNACKED_BYTES} bytes, got ${message.sizeAt(1)}`)
  }
  return message
}
