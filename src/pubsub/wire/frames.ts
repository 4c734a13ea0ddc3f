import { PayloadError, reason } from '../../core/util/errors.js'

/**
 * A message's content. `protobuf` data is a serialized `google.protobuf.Any`. `json` data may be a `JsonText`.
 * (JSON subprotocol reference, "Publish messages"; protobuf reference, `MessageData`.)
 */
export type Payload =
  | { readonly dataType: 'json'; readonly data: unknown }
  | { readonly dataType: 'text'; readonly data: string }
  | { readonly dataType: 'binary'; readonly data: Uint8Array }
  | { readonly dataType: 'protobuf'; readonly data: Uint8Array }

/** A frame from a client to the hub. Ids are unsigned 64-bit integers. */
export type UpFrame =
  | { readonly type: 'joinGroup'; readonly group: string; readonly ackId?: bigint | undefined }
  | { readonly type: 'leaveGroup'; readonly group: string; readonly ackId?: bigint | undefined }
  | {
      readonly type: 'sendToGroup'
      readonly group: string
      readonly payload: Payload
      /** Whether to exclude the sending connection from the recipients. */
      readonly noEcho: boolean
      readonly ackId?: bigint | undefined
    }
  | { readonly type: 'event'; readonly event: string; readonly payload: Payload; readonly ackId?: bigint | undefined }
  | { readonly type: 'sequenceAck'; readonly sequenceId: bigint }
  | { readonly type: 'ping' }

/** A frame from the hub to a client. */
export type DownFrame =
  | {
      readonly type: 'connected'
      readonly connectionId: string
      readonly userId?: string | undefined
      readonly reconnectionToken?: string | undefined
    }
  | { readonly type: 'disconnected'; readonly reason: string }
  | {
      readonly type: 'ack'
      readonly ackId: bigint
      readonly success: boolean
      readonly error?: AckError | undefined
    }
  | {
      readonly type: 'groupMessage'
      readonly group: string
      /** The user id of the sender. Only the JSON subprotocol carries it. */
      readonly fromUserId?: string | undefined
      readonly payload: Payload
      readonly sequenceId?: bigint | undefined
    }
  | { readonly type: 'serverMessage'; readonly payload: Payload; readonly sequenceId?: bigint | undefined }
  | { readonly type: 'pong' }

/** The reason why the hub rejected a request. Programs should compare the name, because the text may change. */
export interface AckError {
  /** The name: `Forbidden`, `InternalServerError`, `Duplicate`, or a name added later. */
  readonly name: string
  readonly message: string
}

/** A frame of an unknown kind from a newer peer. The frame is skipped, but its sequence id counts. */
export interface UnknownFrame {
  readonly type: 'unknown'
  readonly sequenceId?: bigint | undefined
}

/**
 * A request of a newer client that this hub does not support, with the id for which the client awaits a response. Such
 * requests are invocations, streams, group states, and any other frame with an `ackId`.
 */
export type NewerCall =
  | { readonly type: 'newerCall'; readonly answer: 'ack'; readonly id: bigint }
  | { readonly type: 'newerCall'; readonly answer: 'invokeResponse' | 'streamClosed'; readonly id: string }

/** A response that rejects an invocation or a stream. */
export interface RefusedCall {
  readonly type: 'invokeResponse' | 'streamClosed'
  readonly id: string
  readonly error: AckError
}

export type FrameData = string | Uint8Array

/** Returns the JSON text of a value. Throws if the value has no JSON text. */
export type JsonWriter = (value: unknown) => string

export interface ClientCodec {
  readonly subprotocol: string
  /**
   * Encodes a frame. Throws {@link ArgumentError} if the frame cannot be encoded, such as cyclic JSON or an id beyond
   * 64 bits.
   *
   * @param jsonOf - writes data of type `json`. Default: any value that JSON can express
   */
  encode(frame: UpFrame, jsonOf?: JsonWriter): FrameData
  /**
   * Decodes a frame. Throws {@link PayloadError} for malformed data, and its subclass {@link UnreadableMessageError} if
   * the sequence id of the malformed message is readable, because the message then counts as received. The bytes of a
   * payload may be a view of the input.
   */
  decode(data: FrameData): DownFrame | UnknownFrame
}

/** The hub's half of a subprotocol. Data of type `json` becomes a `JsonText`, which the hub forwards unchanged. */
export interface HubCodec {
  readonly subprotocol: string
  /**
   * Encodes a frame. Throws {@link ArgumentError} if the frame cannot be encoded, such as cyclic JSON or an id beyond
   * 64 bits.
   */
  encode(frame: DownFrame | RefusedCall): FrameData
  /**
   * Decodes a frame. Throws {@link PayloadError} for malformed data. The bytes of a payload may be a view of the input.
   */
  decode(data: FrameData): UpFrame | NewerCall | UnknownFrame
}

/**
 * A malformed message with a readable sequence id. The client must still acknowledge the message, because the hub would
 * otherwise resend the same bytes after each recovery.
 *
 * @example
 * ```ts
 * if (error instanceof UnreadableMessageError) received(error.sequenceId)
 * ```
 */
export class UnreadableMessageError extends PayloadError {
  readonly sequenceId: bigint

  constructor(message: string, sequenceId: bigint, options?: ErrorOptions) {
    super(message, options)
    this.sequenceId = sequenceId
  }
}

/** Calls `read`. Converts its errors to {@link UnreadableMessageError} if the message has a sequence id. */
export function readNumbered<T>(sequenceId: bigint | undefined, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (sequenceId === undefined) throw cause
    throw new UnreadableMessageError(`Message ${sequenceId} cannot be read: ${reason(cause)}`, sequenceId, { cause })
  }
}
