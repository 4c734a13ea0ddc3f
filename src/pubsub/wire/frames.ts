/**
 * What a message carries. `protobuf` data is a serialized `google.protobuf.Any`. (JSON subprotocol reference, "Publish
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
      /** Spare the sending connection. */
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
      /** Only the JSON subprotocol tells. */
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

/** A frame of a kind this side does not know. Newer peers send such: it is passed over, but its number counts. */
export interface UnknownFrame {
  readonly type: 'unknown'
  readonly sequenceId?: bigint | undefined
}

/** What a WebSocket carries: text or binary messages. */
export type FrameData = string | Uint8Array

/** Gives the JSON text of a value, or raises what is wrong with it. */
export type JsonWriter = (value: unknown) => string

/** The client's half of a subprotocol. */
export interface ClientCodec {
  /** Name offered in the WebSocket handshake. */
  readonly subprotocol: string
  /**
   * Raises {@link ArgumentError} for what has no form on the wire, such as cyclic JSON or an id beyond 64 bits.
   *
   * @param jsonOf - writes the data of type `json`. Default: whatever JSON has
   */
  encode(frame: UpFrame, jsonOf?: JsonWriter): FrameData
  /**
   * Raises {@link PayloadError} for whatever is no frame, and its kind {@link UnreadableMessageError} for a message
   * that cannot be read but whose number can: it was received, so the number counts. Bytes of a payload may be a view
   * of the input.
   */
  decode(data: FrameData): DownFrame | UnknownFrame
}

/** The hub's half of a subprotocol. */
export interface HubCodec {
  /** Name accepted in the WebSocket handshake. */
  readonly subprotocol: string
  /** Raises {@link ArgumentError} for what has no form on the wire, such as cyclic JSON or an id beyond 64 bits. */
  encode(frame: DownFrame): FrameData
  /** Raises {@link PayloadError} for whatever is no frame. Bytes of a payload may be a view of the input. */
  decode(data: FrameData): UpFrame | UnknownFrame
}
