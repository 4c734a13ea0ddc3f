import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { PayloadError } from '../../core/util/errors.js'
import {
  type AckError,
  type ClientCodec,
  type DownFrame,
  type FrameData,
  type JsonWriter,
  readNumbered,
  type UnknownFrame,
  type UpFrame,
} from './frames.js'
import { toJson } from './json.js'
import {
  ACK,
  ACK_ERROR,
  CONNECTED,
  DATA,
  DISCONNECTED,
  DOWNSTREAM,
  EVENT,
  FieldReader,
  GROUP_STATE,
  GROUP_STATES,
  Member,
  PROTOBUF_SUBPROTOCOL,
  readFrame,
  readOneof,
  readPayload,
  SEND_TO_GROUP,
  SEQUENCE_ACK,
  SYSTEM,
  UPSTREAM,
  writeId,
  writePayload,
  writeText,
} from './protobuf-fields.js'
import { checkedName } from './rules.js'

/**
 * The client's half of `protobuf.reliable.webpubsub.azure.v1` (Azure Web PubSub, "Azure Web PubSub supported Reliable
 * protobuf WebSocket subprotocol", and `webpubsub.v1.proto`).
 *
 * - Ids are exact up to 2^64-1. An `ackId` of 0 is written, but an absent one is not.
 * - JSON is written and read as `json_data`; `text_data` is text, even where older hubs put JSON there.
 * - A frame with an unknown member, payload or `from` is an `unknown` frame, whose sequence id counts. Unknown fields
 *   are ignored.
 * - An empty `user_id` or `reconnection_token` counts as absent.
 * - The bytes of a payload are a view of the frame's memory, unless the payload was split.
 *
 * `encode` throws {@link ArgumentError}, and `decode` throws {@link PayloadError}. See {@link ClientCodec}.
 *
 * @example
 * ```ts
 * protobufClientCodec.encode({ type: 'ping' }) // 4a 00
 * ```
 */
export const protobufClientCodec: ClientCodec = {
  subprotocol: PROTOBUF_SUBPROTOCOL,
  encode,
  decode: data => readFrame(data, decode),
}

function encode(frame: UpFrame, jsonOf: JsonWriter = toJson): FrameData {
  const writer = new BinaryWriter().uint32(UPSTREAM[frame.type]).fork()
  switch (frame.type) {
    case 'joinGroup':
    case 'leaveGroup':
      writeText(writer, SEND_TO_GROUP.group, checkedName(frame.group))
      writeId(writer, SEND_TO_GROUP.ackId, frame.ackId)
      break
    case 'sendToGroup':
      writeText(writer, SEND_TO_GROUP.group, checkedName(frame.group))
      writeId(writer, SEND_TO_GROUP.ackId, frame.ackId)
      writePayload(writer, SEND_TO_GROUP.data, frame.payload, jsonOf)
      if (frame.noEcho) writer.uint32(SEND_TO_GROUP.noEcho).bool(true)
      break
    case 'event':
      writeText(writer, EVENT.event, checkedName(frame.event))
      writePayload(writer, EVENT.data, frame.payload, jsonOf)
      writeId(writer, EVENT.ackId, frame.ackId)
      break
    case 'sequenceAck':
      writeId(writer, SEQUENCE_ACK.sequenceId, frame.sequenceId || undefined)
      break
  }
  return writer.join().finish()
}

function decode(bytes: Uint8Array): DownFrame | UnknownFrame {
  const { ack, data, system, pong } = DOWNSTREAM
  const member = readOneof(bytes, ack, data, system, pong, GROUP_STATES.update, GROUP_STATES.snapshot)
  switch (member.tag) {
    case ack:
      return readAck(member.bytes)
    case data:
      return readMessage(member.bytes)
    case system:
      return readSystem(member.bytes)
    case pong:
      return { type: 'pong' }
    case 0:
      return { type: 'unknown' }
    default:
      return readGroupState(member.bytes)
  }
}

function readAck(bytes: Uint8Array): DownFrame {
  const reader = new FieldReader(bytes)
  const error = new Member()
  let ackId = 0n
  let success = false
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === ACK.ackId) ackId = reader.id()
    else if (tag === ACK.success) success = reader.bool()
    else if (tag === ACK.error) error.add(tag, reader.bytes())
    else reader.skipField(tag)
  }
  return { type: 'ack', ackId, success, error: error.tag === 0 ? undefined : readError(error.bytes) }
}

function readError(bytes: Uint8Array): AckError {
  const fields = readTexts(bytes, ACK_ERROR.name, ACK_ERROR.message)
  return { name: fields.get(ACK_ERROR.name) ?? '', message: fields.get(ACK_ERROR.message) ?? '' }
}

function readMessage(bytes: Uint8Array): DownFrame | UnknownFrame {
  const reader = new FieldReader(bytes)
  const data = new Member()
  let from = ''
  let group: string | undefined
  let sequenceId: bigint | undefined
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === DATA.from) from = reader.string(true)
    else if (tag === DATA.group) group = reader.string(true)
    else if (tag === DATA.data) data.add(tag, reader.bytes())
    else if (tag === DATA.sequenceId) sequenceId = reader.id()
    else reader.skipField(tag)
  }
  return readNumbered(sequenceId, () => toMessage(from, group, data.bytes, sequenceId))
}

function toMessage(
  from: string,
  group: string | undefined,
  data: Uint8Array,
  sequenceId: bigint | undefined,
): DownFrame | UnknownFrame {
  if (from !== 'group' && from !== 'server') return { type: 'unknown', sequenceId }
  const payload = readPayload(data)
  if (payload === undefined) return { type: 'unknown', sequenceId }
  if (from === 'server') return { type: 'serverMessage', payload, sequenceId }
  if (group === undefined) throw new PayloadError('group is missing')
  return { type: 'groupMessage', group, payload, sequenceId }
}

function readSystem(bytes: Uint8Array): DownFrame | UnknownFrame {
  const member = readOneof(bytes, SYSTEM.connected, SYSTEM.disconnected)
  if (member.tag === SYSTEM.connected) return readConnected(member.bytes)
  if (member.tag !== SYSTEM.disconnected) return { type: 'unknown' }
  return { type: 'disconnected', reason: readTexts(member.bytes, DISCONNECTED.reason).get(DISCONNECTED.reason) ?? '' }
}

function readConnected(bytes: Uint8Array): DownFrame {
  const { connectionId, userId, reconnectionToken } = CONNECTED
  const fields = readTexts(bytes, connectionId, userId, reconnectionToken)
  const id = fields.get(connectionId)
  if (!id) throw new PayloadError('connection_id is missing')
  return {
    type: 'connected',
    connectionId: id,
    userId: fields.get(userId) || undefined,
    reconnectionToken: fields.get(reconnectionToken) || undefined,
  }
}

function readGroupState(bytes: Uint8Array): UnknownFrame {
  const reader = new FieldReader(bytes)
  let sequenceId: bigint | undefined
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === GROUP_STATE.sequenceId) sequenceId = reader.id()
    else reader.skipField(tag)
  }
  return { type: 'unknown', sequenceId }
}

function readTexts(bytes: Uint8Array, ...tags: readonly number[]): ReadonlyMap<number, string> {
  const texts = new Map<number, string>()
  const reader = new FieldReader(bytes)
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tags.includes(tag)) texts.set(tag, reader.string(true))
    else reader.skipField(tag)
  }
  return texts
}
