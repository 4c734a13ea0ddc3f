import { isArrayBuffer, isBytes } from '../../core/util/built-in-types.js'
import { checkFlag, checkObject, checkPositiveInteger } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import type { Payload } from '../wire/frames.js'
import { isAny } from '../wire/protobuf-any.js'
import { payloadOf, wrongDataType } from '../wire/rules.js'
import type { SendRequest } from './events.js'

/** The options of sending a message or an event. */
export interface SendOptions {
  /** The type of the data. Default: `binary` for a `Uint8Array`, `json` otherwise. */
  readonly dataType?: Payload['dataType'] | undefined
  /**
   * Whether the hub acknowledges the message. Default: `true`. With `false`, the send completes when the socket has
   * accepted the message, and delivery is not confirmed.
   */
  readonly ack?: boolean | undefined
  /**
   * Whether to resend the message in a new session if the old session was lost before the acknowledgement arrived.
   * Default: `false`, so that such a send fails with `outcome-unknown`. The new session does not know which messages
   * the old session processed, so the message may arrive twice. After the third lost session, the send fails
   * regardless, because the message may be the cause of the losses.
   */
  readonly atLeastOnce?: boolean | undefined
  /**
   * The time limit in ms from subscribing, including outages. Default: the client's limit, which is 90 s by
   * default.
   */
  readonly timeout?: number | undefined
}

/** The options of a send to a group. */
export interface GroupSendOptions extends SendOptions {
  /** Whether to exclude the sender from the recipients if it is a member of the group. Default: `false`. */
  readonly noEcho?: boolean | undefined
}

export function checkSendOptions(options: SendOptions, defaultTimeout: number): Omit<SendRequest, 'frame'> {
  checkObject('options', options)
  const { ack = true, atLeastOnce = false, timeout = defaultTimeout } = options
  checkPositiveInteger('timeout', timeout)
  checkFlag('ack', ack)
  checkFlag('atLeastOnce', atLeastOnce)
  if (atLeastOnce && !ack) {
    throw new ArgumentError('Expected `ack: false` or `atLeastOnce: true`, got both')
  }
  return { ack, atLeastOnce, timeout }
}

export function checkNoEcho({ noEcho = false }: GroupSendOptions): boolean {
  checkFlag('noEcho', noEcho)
  return noEcho
}

/**
 * Converts data to a payload. Without a given type, a `Uint8Array` is sent as `binary` and any other value as `json`.
 * `protobuf` data is a serialized `google.protobuf.Any`. Throws {@link ArgumentError} if the data does not match its
 * type or has no JSON form. For example, Web PubSub ends the session of a client that sends `null`. Faults that only
 * serialization reveals, such as a cycle, are left to {@link toSentJson}.
 */
export function toPayload(data: unknown, dataType: Payload['dataType'] | undefined): Payload {
  const payload = payloadOf(dataType ?? (isBytes(data) ? 'binary' : 'json'), data)
  if (payload.dataType === 'json' && !isSerializable(data))
    throw wrongDataType('json', 'a JSON value other than null', data)
  if (payload.dataType === 'protobuf' && !isAny(payload.data))
    throw wrongDataType('protobuf', 'the bytes of a google.protobuf.Any', data)
  return payload
}

// Buffers and views would silently become `{}` or an object of numbers.
function isSerializable(data: unknown): boolean {
  if (data === null || ['undefined', 'function', 'symbol', 'bigint'].includes(typeof data)) return false
  return !isArrayBuffer(data) && !ArrayBuffer.isView(data)
}
