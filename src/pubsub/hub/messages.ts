import { checkObject } from '../../core/util/check.js'
import { ArgumentError, PayloadError, shown } from '../../core/util/errors.js'
import type { Payload } from '../wire/frames.js'
import type { HubSession } from './hub-session.js'
import type { DataFrame, NumberedFrame, SharedCodec } from './shared-codec.js'
import { MOST_UNACKED_BYTES } from './unacked.js'

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
  throw new ArgumentError(`Expected data of type ${shown(dataType)}, got a ${typeof data}`)
}

/** Who is left out. Throws {@link ArgumentError} for anything but a list of connection ids. */
export function excludedOf({ exclude }: SendOptions): ReadonlySet<string> | undefined {
  if (exclude === undefined) return undefined
  if (Array.isArray(exclude) && exclude.every(id => typeof id === 'string')) return new Set(exclude)
  throw new ArgumentError(`Expected \`exclude\` to be an array of connection ids, got \`${shown(exclude)}\``)
}

/** What became of a message. */
export interface FanOut {
  /** Sessions it was queued for. */
  readonly deliveries: number
  /** Those for which it was one too many. */
  readonly overflowed: readonly HubSession[]
  /** Those that senders should wait for, before they overflow. */
  readonly lagging: readonly HubSession[]
  /** Those that had caught up before. */
  readonly behind: readonly HubSession[]
}

/**
 * Queues a message for every target, encoded once per codec. Either all of them get it or, when it cannot be encoded,
 * an error is raised and none of them does.
 *
 * @param spared - connection ids that do not get it
 */
export function fanOut(targets: ReadonlySet<HubSession>, frame: DataFrame, spared?: ReadonlySet<string>): FanOut {
  const encoded = new Map<SharedCodec, NumberedFrame>()
  for (const { codec } of targets) if (!encoded.has(codec)) encoded.set(codec, encode(codec, frame))
  let deliveries = 0
  const group = frame.type === 'groupMessage' ? frame.group : undefined
  const overflowed: HubSession[] = []
  const lagging: HubSession[] = []
  const behind: HubSession[] = []
  for (const session of targets) {
    const message = encoded.get(session.codec)
    if (message === undefined || spared?.has(session.connectionId)) continue
    if (session.deliver(message)) behind.push(session)
    deliveries++
    if (session.overflowed) overflowed.push(session)
    else if (group !== undefined && session.lagsIn(group)) lagging.push(session)
  }
  return { deliveries, overflowed, lagging, behind }
}

/**
 * Those that senders should wait for and that would overflow with a message. Raises an error when it cannot be encoded.
 *
 * @param spared - connection ids that do not get it
 */
export function withoutRoom(
  targets: ReadonlySet<HubSession>,
  frame: Extract<DataFrame, { type: 'groupMessage' }>,
  spared?: ReadonlySet<string>,
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
