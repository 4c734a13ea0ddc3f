import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { toHex } from '../../core/util/bytes.js'
import { PayloadError } from '../../core/util/errors.js'
import type {
  AckError,
  DownFrame,
  FrameData,
  HubCodec,
  NewerCall,
  Payload,
  RefusedCall,
  UnknownFrame,
  UpFrame,
} from './frames.js'
import { checkedJson, jsonOf } from './json.js'
import {
  ACK,
  ACK_ERROR,
  CONNECTED,
  DATA,
  DISCONNECTED,
  DOWNSTREAM,
  EVENT,
  FieldReader,
  INVOKE,
  Member,
  NEWER_CALLS,
  PROTOBUF_SUBPROTOCOL,
  REFUSED_CALL,
  REFUSED_CALL_ERRORS,
  REFUSED_CALLS,
  readFrame,
  readOneof,
  readPayload,
  SEND_TO_GROUP,
  SEQUENCE_ACK,
  STREAM,
  SYSTEM,
  UPSTREAM,
  writeId,
  writePayload,
  writeText,
} from './protobuf-fields.js'
import { nameProblem, payloadProblem } from './rules.js'

/**
 * The hub's half of `protobuf.reliable.webpubsub.azure.v1` (Azure Web PubSub, "Azure Web PubSub supported Reliable
 * protobuf WebSocket subprotocol", and `webpubsub.v1.proto`).
 *
 * - Ids are exact up to 2^64-1. An absent `ack_id` is not 0.
 * - JSON is written and read as `json_data`, from clients as `JsonText`, byte for byte. `text_data` is text.
 * - `fromUserId` of a message is not written, because the protocol has no field for it.
 * - A frame with an unknown member is an `unknown` frame. Unknown fields are ignored.
 * - Nesting of JSON is limited to 512 levels.
 * - The bytes of a payload are a view of the frame's memory, unless the payload was split.
 *
 * `encode` throws {@link ArgumentError}, and `decode` throws {@link PayloadError}. See {@link HubCodec}.
 *
 * @example
 * ```ts
 * protobufHubCodec.encode({ type: 'pong' }) // 22 00
 * ```
 */
export const protobufHubCodec: HubCodec = {
  subprotocol: PROTOBUF_SUBPROTOCOL,
  encode,
  decode: data => readFrame(data, decode, excerpt),
}

const EXCERPT_BYTES = 24

const excerpt = (bytes: Uint8Array): string =>
  toHex(bytes.subarray(0, EXCERPT_BYTES)) + (bytes.length > EXCERPT_BYTES ? '...' : '')

function encode(frame: DownFrame | RefusedCall): FrameData {
  const writer = new BinaryWriter()
  switch (frame.type) {
    case 'connected':
      writer.uint32(DOWNSTREAM.system).fork().uint32(SYSTEM.connected).fork()
      writeText(writer, CONNECTED.connectionId, frame.connectionId)
      writeText(writer, CONNECTED.userId, frame.userId)
      writeText(writer, CONNECTED.reconnectionToken, frame.reconnectionToken)
      return writer.join().join().finish()
    case 'disconnected':
      writer.uint32(DOWNSTREAM.system).fork().uint32(SYSTEM.disconnected).fork()
      writeText(writer, DISCONNECTED.reason, frame.reason)
      return writer.join().join().finish()
    case 'ack':
      writer.uint32(DOWNSTREAM.ack).fork()
      writeAck(writer, frame.ackId, frame.success, frame.error)
      return writer.join().finish()
    case 'groupMessage':
      writer.uint32(DOWNSTREAM.data).fork()
      writeText(writer, DATA.from, 'group')
      // The field has presence, so an empty name is written.
      writer.uint32(DATA.group).string(frame.group)
      return writeMessage(writer, frame.payload, frame.sequenceId)
    case 'serverMessage':
      writer.uint32(DOWNSTREAM.data).fork()
      writeText(writer, DATA.from, 'server')
      return writeMessage(writer, frame.payload, frame.sequenceId)
    case 'invokeResponse':
    case 'streamClosed':
      writer.uint32(REFUSED_CALLS[frame.type]).fork()
      writeText(writer, REFUSED_CALL.id, frame.id)
      writeError(writer, REFUSED_CALL_ERRORS[frame.type], frame.error)
      return writer.join().finish()
    case 'pong':
      return writer.uint32(DOWNSTREAM.pong).fork().join().finish()
  }
}

function writeAck(writer: BinaryWriter, ackId: bigint, success: boolean, error: AckError | undefined): void {
  writeId(writer, ACK.ackId, ackId || undefined)
  if (success) writer.uint32(ACK.success).bool(true)
  if (error !== undefined) writeError(writer, ACK.error, error)
}

function writeError(writer: BinaryWriter, tag: number, error: AckError): void {
  writer.uint32(tag).fork()
  writeText(writer, ACK_ERROR.name, error.name)
  writeText(writer, ACK_ERROR.message, error.message)
  writer.join()
}

function writeMessage(writer: BinaryWriter, payload: Payload, sequenceId: bigint | undefined): Uint8Array {
  writePayload(writer, DATA.data, payload, jsonOf)
  writeId(writer, DATA.sequenceId, sequenceId)
  return writer.join().finish()
}

const TAGS = [...Object.values(UPSTREAM), ...Object.values(NEWER_CALLS)]

function decode(bytes: Uint8Array): UpFrame | NewerCall | UnknownFrame {
  const member = readOneof(bytes, ...TAGS)
  switch (member.tag) {
    case UPSTREAM.joinGroup:
      return { type: 'joinGroup', ...readRequest(member.bytes) }
    case UPSTREAM.leaveGroup:
      return { type: 'leaveGroup', ...readRequest(member.bytes) }
    case UPSTREAM.sendToGroup:
      return readSendToGroup(member.bytes)
    case UPSTREAM.event:
      return readEvent(member.bytes)
    case UPSTREAM.sequenceAck:
      return { type: 'sequenceAck', sequenceId: readSequenceId(member.bytes) }
    case UPSTREAM.ping:
      return { type: 'ping' }
    case NEWER_CALLS.invoke:
      return newerCallOf('invokeResponse', readId(member.bytes, INVOKE.invocationId))
    case NEWER_CALLS.streamData:
    case NEWER_CALLS.streamEnd:
      return newerCallOf('streamClosed', readId(member.bytes, STREAM.streamId))
    case 0:
      return { type: 'unknown' }
    default:
      return groupState(readRequest(member.bytes).ackId)
  }
}

const groupState = (id: bigint | undefined): NewerCall | UnknownFrame =>
  id === undefined ? { type: 'unknown' } : { type: 'newerCall', answer: 'ack', id }

const newerCallOf = (answer: 'invokeResponse' | 'streamClosed', id: string): NewerCall => ({
  type: 'newerCall',
  answer,
  id,
})

/** Reads the last field with a tag. Returns `none` if there is no such field. */
function readLast<T>(bytes: Uint8Array, wantedTag: number, read: (reader: FieldReader) => T, none: T): T {
  const reader = new FieldReader(bytes)
  let last = none
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === wantedTag) last = read(reader)
    else reader.skipField(tag)
  }
  return last
}

const readId = (bytes: Uint8Array, tag: number): string => readLast(bytes, tag, reader => reader.string(true), '')

const readSequenceId = (bytes: Uint8Array): bigint =>
  readLast(bytes, SEQUENCE_ACK.sequenceId, reader => reader.id(), 0n)

function readRequest(bytes: Uint8Array): { readonly group: string; readonly ackId: bigint | undefined } {
  const reader = new FieldReader(bytes)
  let group = ''
  let ackId: bigint | undefined
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === SEND_TO_GROUP.group) group = reader.string(true)
    else if (tag === SEND_TO_GROUP.ackId) ackId = reader.id()
    else reader.skipField(tag)
  }
  throwIfInvalid(nameProblem('group', group))
  return { group, ackId }
}

function readSendToGroup(bytes: Uint8Array): UpFrame | NewerCall {
  const reader = new FieldReader(bytes)
  const data = new Member()
  const stream = new Member()
  let noEcho = false
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === SEND_TO_GROUP.data) data.add(tag, reader.bytes())
    else if (tag === SEND_TO_GROUP.noEcho) noEcho = reader.bool()
    else if (tag === SEND_TO_GROUP.stream) stream.add(tag, reader.bytes())
    else reader.skipField(tag)
  }
  if (stream.tag !== 0) return newerCallOf('streamClosed', readId(stream.bytes, STREAM.streamId))
  return { type: 'sendToGroup', ...readRequest(bytes), payload: checkedPayload(data.bytes), noEcho }
}

function readEvent(bytes: Uint8Array): UpFrame | NewerCall {
  const reader = new FieldReader(bytes)
  const data = new Member()
  const stream = new Member()
  let event = ''
  let ackId: bigint | undefined
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === EVENT.event) event = reader.string(true)
    else if (tag === EVENT.data) data.add(tag, reader.bytes())
    else if (tag === EVENT.ackId) ackId = reader.id()
    else if (tag === EVENT.stream) stream.add(tag, reader.bytes())
    else reader.skipField(tag)
  }
  if (stream.tag !== 0) return newerCallOf('streamClosed', readId(stream.bytes, STREAM.streamId))
  throwIfInvalid(nameProblem('event', event))
  return { type: 'event', event, payload: checkedPayload(data.bytes), ackId }
}

function checkedPayload(bytes: Uint8Array): Payload {
  const payload = readPayload(bytes, checkedJson)
  if (payload === undefined) throw new PayloadError('data must be text, binary, protobuf or json')
  throwIfInvalid(payloadProblem(payload))
  return payload
}

function throwIfInvalid(problem: string | undefined): void {
  if (problem !== undefined) throw new PayloadError(problem)
}
