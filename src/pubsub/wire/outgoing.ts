import { isWellFormed } from '../../core/util/bytes.js'
import { ArgumentError, reason, shown } from '../../core/util/errors.js'
import type { Payload } from './frames.js'

/** The largest id: ids are unsigned 64-bit integers. */
export const MAXIMUM_ID = 0xffff_ffff_ffff_ffffn

/** An id that can be written. Raises {@link ArgumentError} for one that is negative or beyond 64 bits. */
export function checkedId(id: bigint): bigint {
  if (typeof id !== 'bigint' || id < 0n || id > MAXIMUM_ID) {
    throw new ArgumentError(`An id must be a bigint from 0n to ${MAXIMUM_ID}n`)
  }
  return id
}

/** A name that can be written. Raises {@link ArgumentError} for half a surrogate pair, which has no UTF-8. */
export function checkedName(name: string): string {
  if (typeof name !== 'string' || !isWellFormed(name)) throw new ArgumentError('A name must be of whole characters')
  return name
}

/** Data as a payload of a type. Raises {@link ArgumentError} for data of another type, and for types there are not. */
export function payloadOf(dataType: unknown, data: unknown): Payload {
  switch (dataType) {
    case 'json':
      return { dataType, data }
    case 'text':
      if (typeof data === 'string' && isWellFormed(data)) return { dataType, data }
      throw unfit(dataType, 'a well-formed string', data)
    case 'binary':
    case 'protobuf':
      if (data instanceof Uint8Array) return { dataType, data }
      throw unfit(dataType, 'a Uint8Array', data)
    default:
      throw new ArgumentError(
        `Expected \`dataType\` to be 'json', 'text', 'binary' or 'protobuf', got \`${shown(dataType)}\``,
      )
  }
}

/** The error for data that is not what its type wants. */
export const unfit = (dataType: string, expected: string, data: unknown): ArgumentError =>
  new ArgumentError(
    `Expected ${expected} for data of type ${dataType}, got \`${shown(data).slice(0, 80)}\` (${typeof data})`,
  )

/** JSON text of a value. Raises {@link ArgumentError} for what has none, such as `undefined`, a bigint or a cycle. */
export function toJson(value: unknown): string {
  const text = stringified(value)
  if (text === undefined) throw new ArgumentError(`Data of type json must have JSON text, and ${typeof value} has none`)
  return text
}

function stringified(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new ArgumentError(`Data of type json must have JSON text: ${reason(cause)}`, { cause })
  }
}
