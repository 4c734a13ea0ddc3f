import type { MemoryCharge } from '../../node/limits/memory-budget.js'
import type { DownFrame, FrameData, HubCodec, NewerCall, RefusedCall, UnknownFrame, UpFrame } from '../wire/frames.js'

export type DataFrame = Extract<DownFrame, { type: 'groupMessage' | 'serverMessage' }>

/** A message encoded once for all receivers, in which only the sequence id differs. */
export interface NumberedFrame extends MemoryCharge {
  /** The group, or `undefined` for a server message. */
  readonly group: string | undefined
  sizeAt(id: number): number
  /** Returns the frame with this id. Equal ids give equal frames. */
  frameAt(id: number): FrameData
}

/** Encodes a message once for all receivers. Text frames are JSON objects, and binary frames are protobuf. */
export class SharedCodec {
  readonly name: string
  readonly isText: boolean
  readonly pong: FrameData
  readonly #codec: HubCodec

  constructor(codec: HubCodec) {
    this.#codec = codec
    this.name = codec.subprotocol
    this.pong = codec.encode({ type: 'pong' })
    this.isText = typeof this.pong === 'string'
  }

  decode(data: FrameData): UpFrame | NewerCall | UnknownFrame {
    return this.#codec.decode(data)
  }

  /**
   * Returns whether a frame is a sequence ack in one of the usual encodings. Other encodings are recognised when they
   * are processed in order.
   */
  isSequenceAck(data: FrameData): boolean {
    try {
      const isLikely = typeof data === 'string' ? data.includes('"sequenceAck"') : data[0] === SEQUENCE_ACK
      return isLikely && this.#codec.decode(data).type === 'sequenceAck'
    } catch {
      // The error is reported when the frame is processed in order.
      return false
    }
  }

  encode(frame: DownFrame | RefusedCall): FrameData {
    return this.#codec.encode(frame)
  }

  /** Encodes a message without its sequence id. Throws the codec's error if the message cannot be encoded. */
  encodeOnce(frame: DataFrame): NumberedFrame {
    const data = this.#codec.encode(frame)
    const group = frame.type === 'groupMessage' ? frame.group : undefined
    return typeof data === 'string' ? new NumberedText(data, group) : new NumberedBytes(data, group)
  }
}

export interface NegotiatedSubprotocol {
  /** The name in the client's spelling, which the response must repeat. */
  readonly name: string
  readonly codec: SharedCodec
}

/** Returns the first offered subprotocol that is supported. Names are case-insensitive. */
export function negotiateSubprotocol(
  offered: readonly string[],
  known: readonly SharedCodec[],
): NegotiatedSubprotocol | undefined {
  for (const name of offered) {
    const codec = known.find(candidate => candidate.name === name.toLowerCase())
    if (codec) return { name, codec }
  }
  return undefined
}

/** A JSON frame to which a sequence id is added: `{...}` becomes `{...,"sequenceId":7}`. */
class NumberedText implements NumberedFrame {
  readonly size: number
  holderCount = 0
  readonly group: string | undefined
  readonly #head: string

  constructor(object: string, group: string | undefined) {
    this.group = group
    this.#head = `${object.slice(0, -1)},"sequenceId":`
    this.size = Buffer.byteLength(this.#head) + 1
  }

  sizeAt(id: number): number {
    return this.size + String(id).length
  }

  frameAt(id: number): string {
    return `${this.#head}${id}}`
  }
}

/** The tag of `UpstreamMessage.sequence_ack_message`. */
const SEQUENCE_ACK = 0x42
/** The tags of `DownstreamMessage.data_message` (length-delimited) and of `DataMessage.sequence_id` (varint). */
const DATA_MESSAGE = 0x12
const SEQUENCE_ID = 0x20

/**
 * A protobuf frame to which a sequence id is added. The outer message has one field, the inner message, to which the
 * sequence id is appended as the last field.
 */
class NumberedBytes implements NumberedFrame {
  holderCount = 0
  readonly group: string | undefined
  readonly #body: Uint8Array

  constructor(message: Uint8Array, group: string | undefined) {
    this.group = group
    this.#body = message.subarray(1 + lengthOfVarint(message, 1))
  }

  get size(): number {
    return this.#body.length
  }

  sizeAt(id: number): number {
    const inner = this.#innerSize(id)
    return 1 + varintSize(inner) + inner
  }

  frameAt(id: number): Uint8Array {
    const inner = this.#innerSize(id)
    const frame = new Uint8Array(1 + varintSize(inner) + inner)
    frame[0] = DATA_MESSAGE
    const at = writeVarint(frame, 1, inner)
    frame.set(this.#body, at)
    frame[at + this.#body.length] = SEQUENCE_ID
    writeVarint(frame, at + this.#body.length + 1, id)
    return frame
  }

  #innerSize(id: number): number {
    return this.#body.length + 1 + varintSize(id)
  }
}

function varintSize(value: number): number {
  let size = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++
  return size
}

/** Writes a varint. Returns the offset after it. */
function writeVarint(bytes: Uint8Array, offset: number, value: number): number {
  let at = offset
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128
  bytes[at++] = rest
  return at
}

function lengthOfVarint(bytes: Uint8Array, offset: number): number {
  let at = offset
  while ((bytes[at] ?? 0) >= 128) at++
  return at - offset + 1
}
