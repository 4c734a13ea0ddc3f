import { checkFlag, checkObject, checkPositiveInteger } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import type { Payload } from '../wire/frames.js'
import { isAny } from '../wire/protobuf-any.js'
import { payloadOf, unfit } from '../wire/rules.js'
import type { SendRequest } from './events.js'

/** Options of every send. */
export interface SendOptions {
  /** Default `binary` for a `Uint8Array`, else `json`. */
  readonly dataType?: Payload['dataType'] | undefined
  /**
   * Whether the hub is to acknowledge. Default `true`. With `false` the send is done when it is handed to the socket, and
   * whether it arrives is not known.
   */
  readonly ack?: boolean | undefined
  /**
   * Send it again in a new session when the old one was lost before its acknowledgement came. Default `false`: such a
   * send fails with `outcome-unknown`. The new session does not know what the old one processed, so a message may arrive
   * twice. With the third session lost it fails all the same: the message may be what they were lost for.
   */
  readonly atLeastOnce?: boolean | undefined
  /** ms from subscribing until it has failed, outages included. Default: that of the client, 90 s. */
  readonly timeout?: number | undefined
}

/** Options of a send to a group. */
export interface GroupSendOptions extends SendOptions {
  /** Do not send it to the sender itself, should it be a member of the group. Default `false`. */
  readonly noEcho?: boolean | undefined
}

/** How a message is to be sent. Throws {@link ArgumentError} for wrong options. */
export function sendingOf(options: SendOptions, timeoutByDefault: number): Omit<SendRequest, 'frame'> {
  checkObject('options', options)
  const { ack = true, atLeastOnce = false, timeout = timeoutByDefault } = options
  checkPositiveInteger('timeout', timeout)
  checkFlag('ack', ack)
  checkFlag('atLeastOnce', atLeastOnce)
  if (atLeastOnce && !ack) {
    throw new ArgumentError('Expected one of `ack: false` and `atLeastOnce: true`, got both')
  }
  return { ack, atLeastOnce, timeout }
}

/** Whether the sender is left out. Throws {@link ArgumentError} for anything but `true` and `false`. */
export function noEchoOf({ noEcho = false }: GroupSendOptions): boolean {
  checkFlag('noEcho', noEcho)
  return noEcho
}

/**
 * The payload of some data: bytes travel as `binary`, anything else as `json`, unless the type is given. `protobuf` data
 * is a serialized `google.protobuf.Any`. Throws {@link ArgumentError} for data that is not of its type, and for what
 * has no JSON; `null` is refused by Web PubSub, which ends the session of its sender. Faults that only the JSON text
 * shows, such as a cycle, are left to {@link toSentJson}.
 */
export function toPayload(data: unknown, dataType: Payload['dataType'] | undefined): Payload {
  const payload = payloadOf(dataType ?? (data instanceof Uint8Array ? 'binary' : 'json'), data)
  if (payload.dataType === 'json' && !hasJson(data)) throw unfit('json', 'a value that JSON has, other than null', data)
  if (payload.dataType === 'protobuf' && !isAny(payload.data))
    throw unfit('protobuf', 'the bytes of a google.protobuf.Any', data)
  return payload
}

// Buffers and views would silently become {} or an object of numbers.
function hasJson(data: unknown): boolean {
  if (data === null || ['undefined', 'function', 'symbol', 'bigint'].includes(typeof data)) return false
  return !(data instanceof ArrayBuffer) && !ArrayBuffer.isView(data)
}
