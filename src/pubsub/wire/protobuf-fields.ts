import { BinaryReader, BinaryWriter, type WireType } from '@bufbuild/protobuf/wire'
import { isBytes } from '../../core/util/built-in-types.js'
import { fromUtf8 } from '../../core/util/bytes.js'
import { PayloadError, reason } from '../../core/util/errors.js'
import { type FrameData, type JsonWriter, type Payload, UnreadableMessageError } from './frames.js'
import { MAX_FIELDS } from './protobuf-any.js'
import { checkedId, payloadOf } from './rules.js'

export const PROTOBUF_SUBPROTOCOL = 'protobuf.reliable.webpubsub.azure.v1'

// The tags below are as on the wire (package azure.webpubsub, webpubsub.v1.proto). In octal, the last digit is the wire
// type (0 a varint, 2 length-delimited), and the digits before it are the field number.

/** The tags of `UpstreamMessage` by the type of the frame. */
export const UPSTREAM = {
  sendToGroup: 0o12,
  event: 0o52,
  joinGroup: 0o62,
  leaveGroup: 0o72,
  sequenceAck: 0o102,
  ping: 0o112,
} as const
/** The tags of `UpstreamMessage` for calls of newer clients. */
export const NEWER_CALLS = {
  invoke: 0o122,
  streamData: 0o152,
  streamEnd: 0o162,
  setGroupState: 0o172,
  subscribeGroupState: 0o202,
  unsubscribeGroupState: 0o212,
} as const
/** The tags of `InvokeEventMessage`. */
export const INVOKE = { invocationId: 0o22 } as const
/** The tags of `StreamStartInfo`, `StreamDataMessage` and `StreamEndMessage`. */
export const STREAM = { streamId: 0o12 } as const
/** The tags of `SendToGroupMessage`. `JoinGroupMessage` and `LeaveGroupMessage` share its first two fields. */
export const SEND_TO_GROUP = { group: 0o12, ackId: 0o20, data: 0o32, noEcho: 0o40, stream: 0o72 } as const
/** The tags of `EventMessage`. */
export const EVENT = { event: 0o12, data: 0o22, ackId: 0o30, stream: 0o52 } as const
/** The tags of `SequenceAckMessage`. */
export const SEQUENCE_ACK = { sequenceId: 0o10 } as const
/** The tags of `DownstreamMessage`. */
export const DOWNSTREAM = { ack: 0o12, data: 0o22, system: 0o32, pong: 0o42 } as const
/** The tags of `DownstreamMessage` for responses to calls of newer clients. */
export const REFUSED_CALLS = { invokeResponse: 0o52, streamClosed: 0o102 } as const
/** The tags of the ids in these responses. An `InvokeResponseMessage` without `success` is a failure. */
export const REFUSED_CALL = { id: 0o12 } as const
/** The tags of `error` in these responses, whose fields are those of {@link ACK_ERROR}. */
export const REFUSED_CALL_ERRORS = { invokeResponse: 0o42, streamClosed: 0o22 } as const
/**
 * The tags of `DownstreamMessage` for group states, which are not supported but are numbered in the same way as
 * messages.
 */
export const GROUP_STATES = { update: 0o112, snapshot: 0o122 } as const
/** The tags of `GroupStateUpdateMessage` and `GroupStateSnapshotMessage`. */
export const GROUP_STATE = { sequenceId: 0o30 } as const
/** The tags of `AckMessage`. */
export const ACK = { ackId: 0o10, success: 0o20, error: 0o32 } as const
/** The tags of `AckMessage.ErrorMessage`. */
export const ACK_ERROR = { name: 0o12, message: 0o22 } as const
/** The tags of `DataMessage`. */
export const DATA = { from: 0o12, group: 0o22, data: 0o32, sequenceId: 0o40 } as const
/** The tags of `SystemMessage`. */
export const SYSTEM = { connected: 0o12, disconnected: 0o22 } as const
/** The tags of `SystemMessage.ConnectedMessage`. */
export const CONNECTED = { connectionId: 0o12, userId: 0o22, reconnectionToken: 0o32 } as const
/** The tags of `SystemMessage.DisconnectedMessage`, which has no field 1. */
export const DISCONNECTED = { reason: 0o22 } as const
/** The tags of `MessageData` by `dataType`. */
export const MESSAGE_DATA = { text: 0o12, binary: 0o22, protobuf: 0o32, json: 0o42 } as const

const NO_BYTES = new Uint8Array()

/** Reads a message's fields by tag. Throws if the bytes are malformed or contain too many fields. */
export class FieldReader extends BinaryReader {
  #fields = 0

  next(): number {
    if (this.pos >= this.len) return 0
    const [field, wireType] = this.tag()
    return field * 8 + wireType
  }

  /** Reads a tag. Counts fields in skipped groups too, because the limit includes them. */
  override tag(): [number, WireType] {
    if (++this.#fields > MAX_FIELDS) throw new RangeError(`more than ${MAX_FIELDS} fields`)
    return super.tag()
  }

  /** Skips a field. A field with an unexpected wire type is treated as unknown. */
  skipField(tag: number): void {
    const wireType: WireType = tag % 8
    this.skip(wireType, Math.floor(tag / 8))
  }

  id(): bigint {
    return BigInt(this.uint64())
  }
}

/** The last member of a `oneof` on the wire. Protobuf merges an embedded message that is split. */
export class Member {
  tag = 0
  #bytes: Uint8Array = NO_BYTES
  #parts: BinaryWriter | undefined

  set(tag: number, bytes: Uint8Array): void {
    this.tag = tag
    this.#bytes = bytes
    this.#parts = undefined
  }

  /** Adds an embedded message, or the next part of a message that is split. */
  add(tag: number, bytes: Uint8Array): void {
    if (tag !== this.tag) {
      this.set(tag, bytes)
      return
    }
    // The parts are joined, because a frame can hold half a million parts, which would take a hundred times its memory
    // if kept individually.
    this.#parts ??= new BinaryWriter().raw(this.#bytes)
    this.#parts.raw(bytes)
  }

  /** The bytes, which are a view of the input unless the message was split. */
  get bytes(): Uint8Array {
    if (this.#parts !== undefined) this.set(this.tag, this.#parts.finish())
    return this.#bytes
  }
}

/** Reads a message that is a single `oneof` of messages. Returns a member with tag 0 if none is known. */
export function readOneof(bytes: Uint8Array, ...tags: readonly number[]): Member {
  const member = new Member()
  const reader = new FieldReader(bytes)
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tags.includes(tag)) member.add(tag, reader.bytes())
    else reader.skipField(tag)
  }
  return member
}

/**
 * Reads a binary frame. Throws {@link PayloadError} for errors of `read`, a text frame or an empty frame.
 *
 * @param excerpt - formats the malformed frame
 */
export function readFrame<T>(
  data: FrameData,
  read: (bytes: Uint8Array) => T,
  excerpt = (bytes: Uint8Array): string => `${bytes.length} bytes`,
): T {
  if (!isBytes(data)) throw new PayloadError('Not a protobuf frame: a text WebSocket message')
  if (data.length === 0) throw new PayloadError('Not a protobuf frame: no bytes')
  try {
    // A plain `Uint8Array` is passed, because payloads must not be instances of the subclass that the WebSocket uses.
    return read(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  } catch (cause) {
    if (cause instanceof UnreadableMessageError) throw cause
    throw new PayloadError(`Malformed protobuf frame: ${reason(cause)}, in ${excerpt(data)}`, { cause })
  }
}

/**
 * Reads a `MessageData`. Returns `undefined` if its type is unknown. The bytes are a view of the input.
 *
 * @param readJson - parses JSON text; throws if it is malformed. Default: `JSON.parse`
 */
export function readPayload(
  bytes: Uint8Array,
  readJson: (text: string) => unknown = text => JSON.parse(text),
): Payload | undefined {
  const member = readData(bytes)
  switch (member.tag) {
    case MESSAGE_DATA.text:
      return { dataType: 'text', data: fromUtf8(member.bytes) }
    case MESSAGE_DATA.binary:
      return { dataType: 'binary', data: member.bytes }
    case MESSAGE_DATA.protobuf:
      return { dataType: 'protobuf', data: member.bytes }
    case MESSAGE_DATA.json:
      return { dataType: 'json', data: readJson(fromUtf8(member.bytes)) }
    default:
      return undefined
  }
}

function readData(bytes: Uint8Array): Member {
  const member = new Member()
  const reader = new FieldReader(bytes)
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === MESSAGE_DATA.protobuf) member.add(tag, reader.bytes())
    else if (tag === MESSAGE_DATA.text || tag === MESSAGE_DATA.binary || tag === MESSAGE_DATA.json)
      member.set(tag, reader.bytes())
    else reader.skipField(tag)
  }
  return member
}

/**
 * Writes a `MessageData` as a field. Throws {@link ArgumentError} if the data does not match its type.
 *
 * @param jsonOf - function that writes data of type `json`
 */
export function writePayload(writer: BinaryWriter, tag: number, payload: Payload, jsonOf: JsonWriter): void {
  const { dataType, data } = payloadOf(payload.dataType, payload.data)
  writer.uint32(tag).fork().uint32(MESSAGE_DATA[dataType])
  if (dataType === 'json') writer.string(jsonOf(data))
  else if (dataType === 'text') writer.string(data)
  else writer.bytes(data)
  writer.join()
}

/** Writes a string without field presence. An empty string is omitted. */
export function writeText(writer: BinaryWriter, tag: number, text: string | undefined): void {
  if (text !== undefined && text !== '') writer.uint32(tag).string(text)
}

/** Writes an id with field presence, so that 0 is written. Throws {@link ArgumentError} for an id beyond 64 bits. */
export function writeId(writer: BinaryWriter, tag: number, id: bigint | undefined): void {
  if (id !== undefined) writer.uint32(tag).uint64(checkedId(id))
}
