import { checkObject } from '../../core/util/check.js'
import { ArgumentError, formatValue, PayloadError, reason } from '../../core/util/errors.js'
import type { AckError, NewerCall, Payload, UnknownFrame, UpFrame } from '../wire/frames.js'
import type { Backpressure } from './backpressure.js'
import type { EventQueue } from './event-queue.js'
import type { HubLink } from './hub-link.js'
import { type HubSession, MOST_UNACKED_BYTES } from './hub-session.js'
import { MOST_GROUPS } from './identity.js'
import { type GroupAction, PERMISSION_FOR } from './permissions.js'
import type { SessionIndex } from './session-index.js'
import type { DataFrame, NumberedFrame, SharedCodec } from './shared-codec.js'

/** Why a request was not done, in the words of the wire. (JSON subprotocol reference, "Ack response".) */
const REFUSALS = {
  duplicate: { name: 'Duplicate', message: 'A request with this ackId was processed already' },
  tooManyGroups: {
    name: 'BadRequest',
    message: `A connection can be in ${MOST_GROUPS} groups, and all connections of a user in a limited number`,
  },
  join: { name: 'Forbidden', message: 'The connection may not join or leave this group' },
  send: { name: 'Forbidden', message: 'The connection may not send to this group' },
  newer: { name: 'NotSupported', message: 'This hub has no invocations, streams or states of groups' },
} as const satisfies Record<string, AckError>

/** A frame that may ask for an answer. */
type ClientRequest = Extract<UpFrame, { ackId?: bigint | undefined }>

type GroupRequest = Exclude<ClientRequest, { type: 'event' }>
type PublishRequest = Extract<ClientRequest, { type: 'sendToGroup' }>

/** Not done: the sender has to wait. */
const LATER = 'later'

/** Why a request was not done, if it was not. */
type Outcome = AckError | typeof LATER | undefined

/** What the hub does with groups. */
export interface GroupWork {
  /** Queues a message; raises an error when it cannot be encoded. */
  readonly deliver: (
    targets: ReadonlySet<HubSession>,
    frame: DataFrame,
    now: number,
    spared: ReadonlySet<string> | undefined,
  ) => void
  /** Returns whether it is a member now. */
  readonly join: (session: HubSession, group: string) => boolean
  readonly leave: (session: HubSession, group: string) => void
  /** What the application decides, before the permissions of the session are looked at. */
  readonly allows: (session: HubSession, action: GroupAction, group: string) => boolean | undefined
}

/**
 * What clients ask for, and what they are answered. An answer says that it is done: for a message, that it is queued for
 * every receiver. (Client specification, "Acknowledgements" and "Deduplication".)
 */
export class Requests {
  readonly #sessionIndex: SessionIndex
  readonly #events: EventQueue
  readonly #backpressure: Backpressure
  readonly #work: GroupWork

  constructor(roster: SessionIndex, events: EventQueue, backpressure: Backpressure, work: GroupWork) {
    this.#sessionIndex = roster
    this.#events = events
    this.#backpressure = backpressure
    this.#work = work
  }

  /**
   * Returns whether it took the frame, which it does not while the sender has to wait.
   *
   * @param link - of the session
   * @param size - of the frame, bytes or characters
   */
  take(
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
        refuse(session, frame)
        return true
      case 'ping':
        session.pong()
        return true
      case 'sequenceAck':
        session.acknowledge(frame.sequenceId)
        return true
      case 'event':
        if (!this.#repeated(session, frame)) this.#events.ask(session, frame, size, now)
        return true
      default:
        return this.#repeated(session, frame) || this.#answer(session, link, frame, now)
    }
  }

  /** Whether it was processed before, or is at present. */
  #repeated(session: HubSession, { ackId }: ClientRequest): boolean {
    if (ackId === undefined) return false
    if (this.#events.repeated(session, ackId)) return true
    if (!session.recent.has(ackId)) return false
    session.answer(ackId, REFUSALS.duplicate)
    return true
  }

  #answer(session: HubSession, link: HubLink, request: GroupRequest, now: number): boolean {
    const outcome = this.#perform(session, link, request, now)
    if (outcome === LATER) return false
    session.answer(request.ackId, outcome)
    return true
  }

  /** Does it, or says why not. */
  #perform(session: HubSession, link: HubLink, request: GroupRequest, now: number): Outcome {
    const { type, group } = request
    if (type === 'sendToGroup') {
      return this.#allows(session, 'send', group) ? this.#publish(session, link, request, now) : REFUSALS.send
    }
    if (!this.#allows(session, type === 'joinGroup' ? 'join' : 'leave', group)) return REFUSALS.join
    if (type === 'joinGroup') return this.#work.join(session, group) ? undefined : REFUSALS.tooManyGroups
    this.#work.leave(session, group)
    return undefined
  }

  #allows(session: HubSession, action: GroupAction, group: string): boolean {
    return this.#work.allows(session, action, group) ?? session.permissions.allows(PERMISSION_FOR[action], group)
  }

  #publish(session: HubSession, link: HubLink, { group, payload, noEcho }: PublishRequest, now: number): Outcome {
    const targets = this.#sessionIndex.ofGroup(group)
    const spared = noEcho ? new Set([session.connectionId]) : undefined
    const frame = { type: 'groupMessage', group, fromUserId: session.userId, payload } as const
    try {
      const full = withoutRoom(targets, frame, spared)
      if (full.length > 0 && this.#backpressure.holdBefore(session, link, full, now)) return LATER
      this.#work.deliver(targets, frame, now, spared)
      return undefined
    } catch (error) {
      return { name: 'BadRequest', message: reason(error) }
    }
  }
}

/** Answers a call the hub does not know, so that the caller need not wait. */
function refuse(session: HubSession, { answer, id }: NewerCall): void {
  if (answer === 'ack') session.answer(id, REFUSALS.newer)
  else session.send({ type: answer, id, error: REFUSALS.newer })
}

/** How a message of the application is sent. */
export interface MessageOptions {
  /** Kind of the data. Default `binary` for a `Uint8Array`, `json` for anything else. */
  readonly dataType?: Payload['dataType'] | undefined
}

/** How a message of the application is sent to several. */
export interface SendOptions extends MessageOptions {
  /** Connection ids that do not get it. Default none. */
  readonly exclude?: readonly string[] | undefined
}

/** The payload of an application's message. Throws {@link ArgumentError} when the data is not of the type. */
export function payloadOf(data: unknown, options: MessageOptions = {}): Payload {
  checkObject('options', options)
  const { dataType = data instanceof Uint8Array ? 'binary' : 'json' } = options
  if (dataType === 'json') return { dataType, data }
  if (dataType === 'text' && typeof data === 'string') return { dataType, data }
  if ((dataType === 'binary' || dataType === 'protobuf') && data instanceof Uint8Array) return { dataType, data }
  throw new ArgumentError(`Expected data of type ${formatValue(dataType)}, got a ${typeof data}`)
}

/** Who is left out. Throws {@link ArgumentError} for anything but a list of connection ids. */
export function excludedOf({ exclude }: SendOptions): ReadonlySet<string> | undefined {
  if (exclude === undefined) return undefined
  if (Array.isArray(exclude) && exclude.every(id => typeof id === 'string')) return new Set(exclude)
  throw new ArgumentError(`Expected \`exclude\` to be an array of connection ids, got \`${formatValue(exclude)}\``)
}

/** What became of a message. */
export interface FanOut {
  /** Sessions it was queued for. */
  readonly deliveries: number
  /** Those for which it was one too many. */
  readonly overflowed: readonly HubSession[]
  /** Those that senders should wait for, before they overflow. */
  readonly lagging: readonly HubSession[]
}

/**
 * Queues a message for every target, encoded once per codec. Either all of them get it or, when it cannot be encoded,
 * an error is raised and none of them does.
 *
 * @param spared - connection ids that do not get it
 */
export function fanOut(
  targets: ReadonlySet<HubSession>,
  frame: DataFrame,
  now: number,
  spared: ReadonlySet<string> | undefined,
): FanOut {
  const encoded = new Map<SharedCodec, NumberedFrame>()
  for (const { codec } of targets) if (!encoded.has(codec)) encoded.set(codec, encode(codec, frame))
  let deliveries = 0
  const group = frame.type === 'groupMessage' ? frame.group : undefined
  const overflowed: HubSession[] = []
  const lagging: HubSession[] = []
  for (const session of targets) {
    const message = encoded.get(session.codec)
    if (message === undefined || spared?.has(session.connectionId)) continue
    session.deliver(message, now)
    deliveries++
    if (session.overflowed) overflowed.push(session)
    else if (group !== undefined && session.lagsIn(group)) lagging.push(session)
  }
  return { deliveries, overflowed, lagging }
}

/**
 * Those that senders should wait for and that would overflow with a message. Raises an error when it cannot be encoded.
 *
 * @param spared - connection ids that do not get it
 */
function withoutRoom(
  targets: ReadonlySet<HubSession>,
  frame: Extract<DataFrame, { type: 'groupMessage' }>,
  spared: ReadonlySet<string> | undefined,
): readonly HubSession[] {
  const encoded = new Map<SharedCodec, NumberedFrame>()
  const full: HubSession[] = []
  for (const session of targets) {
    if (!session.lagsIn(frame.group) || spared?.has(session.connectionId)) continue
    const message = encoded.get(session.codec) ?? encode(session.codec, frame)
    encoded.set(session.codec, message)
    if (!session.hasRoomFor(message)) full.push(session)
  }
  return full
}

/** Encodes a message; raises an error when that is impossible, or when no session could hold it. */
export function encode(codec: SharedCodec, frame: DataFrame): NumberedFrame {
  const message = codec.encodeOnce(frame)
  // It would end every session it is queued for.
  if (message.sizeAt(1) > MOST_UNACKED_BYTES) {
    throw new PayloadError(`A message may have ${MOST_UNACKED_BYTES} bytes, this one has ${message.sizeAt(1)}`)
  }
  return message
}
