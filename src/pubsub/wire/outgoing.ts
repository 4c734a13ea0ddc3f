import { isWellFormed } from '../../bytes.js'
import { ArgumentError, reason } from '../../errors.js'
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

/** A payload whose data is of its type. Raises {@link ArgumentError} for any other. */
export function checkedPayload(payload: Payload): Payload {
  const { dataType, data } = payload
  if (dataType === 'text' && !(typeof data === 'string' && isWellFormed(data))) {
    throw new ArgumentError('Data of type text must be a string of whole characters')
  }
  if ((dataType === 'binary' || dataType === 'protobuf') && !(data instanceof Uint8Array)) {
    throw new ArgumentError(`Data of type ${dataType} must be a Uint8Array`)
  }
  return payload
}

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
