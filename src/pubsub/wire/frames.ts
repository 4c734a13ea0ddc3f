import { PayloadError, reason } from '../../core/util/errors.js'

/**
 * What a message carries. `protobuf` data is a serialized `google.protobuf.Any`; `json` data may be a `JsonText`. (JSON subprotocol reference, "Publish
 * messages"; protobuf reference, `MessageData`.)
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
      /** Do not send it to the sending connection. */
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
      /** Only in the JSON subprotocol. */
      readonly fromUserId?: string | undefined
      readonly payload: Payload
      readonly sequenceId?: bigint | undefined
    }
  | { readonly type: 'serverMessage'; readonly payload: Payload; readonly sequenceId?: bigint | undefined }
  | { readonly type: 'pong' }

/** Why the hub did not do what it was asked. Branch on the name: the text may change. */
export interface AckError {
  /** `Forbidden`, `InternalServerError`, `Duplicate`, and others that may come. */
  readonly name: string
  readonly message: string
}

/** A frame of a kind this side does not know. Newer peers may send one: it is skipped, but its number counts. */
export interface UnknownFrame {
  readonly type: 'unknown'
  readonly sequenceId?: bigint | undefined
}

/**
 * What newer clients ask for and this hub does not support, by the id under which they wait for an answer: invocations,
 * streams, states of groups, and anything else that has an `ackId`.
 */
export type NewerCall =
  | { readonly type: 'newerCall'; readonly answer: 'ack'; readonly id: bigint }
  | { readonly type: 'newerCall'; readonly answer: 'invokeResponse' | 'streamClosed'; readonly id: string }

/** The answer that refuses an invocation or a stream. */
export interface RefusedCall {
  readonly type: 'invokeResponse' | 'streamClosed'
  readonly id: string
  readonly error: AckError
}

/** What a WebSocket carries: text or binary messages. */
export type FrameData = string | Uint8Array

/** Returns the JSON text of a value, or raises an error that says why there is none. */
export type JsonWriter = (value: unknown) => string

/** The client's half of a subprotocol. */
export interface ClientCodec {
  /** Name offered in the WebSocket handshake. */
  readonly subprotocol: string
  /**
   * Raises {@link ArgumentError} for what has no form on the wire, such as cyclic JSON or an id beyond 64 bits.
   *
   * @param jsonOf - writes the data of type `json`. Default: anything that JSON can express
   */
  encode(frame: UpFrame, jsonOf?: JsonWriter): FrameData
  /**
   * Raises {@link PayloadError} for anything that is not a frame, and its subclass {@link UnreadableMessageError} for a
   * message that cannot be read but whose number can: it was received, so the number counts. Bytes of a payload may be a view
   * of the input.
   */
  decode(data: FrameData): DownFrame | UnknownFrame
}

/** The hub's half of a subprotocol. Data of type `json` is decoded as a `JsonText`, so that it is passed on unchanged. */
export interface HubCodec {
  /** Name accepted in the WebSocket handshake. */
  readonly subprotocol: string
  /** Raises {@link ArgumentError} for what has no form on the wire, such as cyclic JSON or an id beyond 64 bits. */
  encode(frame: DownFrame | RefusedCall): FrameData
  /** Raises {@link PayloadError} for anything that is not a frame. Bytes of a payload may be a view of the input. */
  decode(data: FrameData): UpFrame | NewerCall | UnknownFrame
}

/**
 * A message from the hub that cannot be read, though its number can. It has to be acknowledged all the same: the hub would
 * send the same bytes again after each recovery.
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

/** What `read` makes of a message; its errors become {@link UnreadableMessageError} when the message has a number. */
export function readNumbered<T>(sequenceId: bigint | undefined, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (sequenceId === undefined) throw cause
    throw new UnreadableMessageError(`Message ${sequenceId} cannot be read: ${reason(cause)}`, sequenceId, { cause })
  }
}
