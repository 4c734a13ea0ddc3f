import { isWellFormed } from '../../bytes.js'
import { ArgumentError, shown } from '../../errors.js'
import { isAny } from '../wire/any.js'
import type { Payload } from '../wire/frames.js'

/**
 * The payload of some data: bytes travel as `binary`, anything else as `json`, unless the type is given. `protobuf` data
 * is a serialized `google.protobuf.Any`. Throws {@link ArgumentError} for data that is not of its type, and for what
 * has no JSON; `null` is refused by Web PubSub, which ends the session of whoever sends it. What only its JSON text
 * shows, such as a cycle, is left to {@link toSentJson}.
 */
export function toPayload(data: unknown, dataType: Payload['dataType'] | undefined): Payload {
  switch (dataType ?? (data instanceof Uint8Array ? 'binary' : 'json')) {
    case 'json':
      if (hasJson(data)) return { dataType: 'json', data }
      throw unfit('json', 'a value that JSON has, other than null', data)
    case 'text':
      if (typeof data === 'string' && isWellFormed(data)) return { dataType: 'text', data }
      throw unfit('text', 'a well-formed string', data)
    case 'binary':
      if (data instanceof Uint8Array) return { dataType: 'binary', data }
      throw unfit('binary', 'a Uint8Array', data)
    case 'protobuf':
      if (data instanceof Uint8Array && isAny(data)) return { dataType: 'protobuf', data }
      throw unfit('protobuf', 'the bytes of a google.protobuf.Any', data)
    default:
      throw new ArgumentError(
        `Expected \`dataType\` to be 'json', 'text', 'binary' or 'protobuf', got \`${shown(dataType)}\``,
      )
  }
}

// Buffers and views would silently become {} or an object of numbers.
function hasJson(data: unknown): boolean {
  if (data === null || ['undefined', 'function', 'symbol', 'bigint'].includes(typeof data)) return false
  return !(data instanceof ArrayBuffer) && !ArrayBuffer.isView(data)
}

const unfit = (dataType: string, expected: string, data: unknown): ArgumentError =>
  new ArgumentError(
    `Expected ${expected} for data of type ${dataType}, got \`${shown(data).slice(0, 80)}\` (${typeof data})`,
  )
