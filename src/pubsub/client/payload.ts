import { isAny } from '../wire/any.js'
import type { Payload } from '../wire/frames.js'
import { payloadOf, unfit } from '../wire/outgoing.js'

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
