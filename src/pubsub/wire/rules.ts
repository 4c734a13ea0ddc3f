import { isWellFormed } from '../../core/util/bytes.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { Payload } from './frames.js'
import { isAny } from './protobuf-any.js'

/** Most characters (UTF-16 code units) of the name of a group or an event. */
export const LONGEST_NAME = 1024
const HUB_NAME = /^[A-Za-z][A-Za-z0-9_`,.[\]]{0,127}$/

/**
 * Whether a group or an event may be called so: 1 to 1024 characters, not blank, and no half of a surrogate pair. (JSON
 * subprotocol reference; service limits.)
 */
export const isName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= LONGEST_NAME && name.trim() !== '' && isWellFormed(name)

/** Throws {@link ArgumentError} for what cannot name a group or an event. */
export function checkName(what: 'group' | 'event', name: string): void {
  if (isName(name)) return
  const got = formatValue(name).slice(0, 80)
  throw new ArgumentError(
    `Expected the name of the ${what}, 1 to ${LONGEST_NAME} characters, not blank, got \`${got}\``,
  )
}

/** Whether a hub may be called so: a letter, then up to 127 letters, digits and any of ``_`,.[]``. */
export const isHubName = (name: unknown): name is string => typeof name === 'string' && HUB_NAME.test(name)

/** Hubs that differ in case only are the same. */
export const hubKey = (name: string): string => name.toLowerCase()

/** Throws {@link ArgumentError} for what cannot name a hub. */
export function checkHub(hub: string): void {
  if (isHubName(hub)) return
  throw new ArgumentError(`Expected the name of the hub to match ${HUB_NAME}, got \`${formatValue(hub).slice(0, 80)}\``)
}

/** What is wrong with the name of a group or an event; see {@link isName}. */
export function nameProblem(what: 'group' | 'event', name: unknown): string | undefined {
  if (isName(name)) return undefined
  if (typeof name !== 'string') return `${what} must be a string`
  if (name.length > LONGEST_NAME) return `${what} must have at most ${LONGEST_NAME} characters, not ${name.length}`
  return name.trim() === '' ? `${what} must not be blank` : `${what} must be of whole characters`
}

/**
 * What is wrong with a payload: text must have UTF-8, and protobuf be a `google.protobuf.Any`, because subscribers of
 * the other subprotocol get it as a part of their frame, and could not read any of that frame otherwise.
 */
export function payloadProblem({ dataType, data }: Payload): string | undefined {
  if (dataType === 'text' && !isWellFormed(data)) return 'data of type text must be of whole characters'
  if (dataType === 'protobuf' && !isAny(data)) return 'data of type protobuf must be a google.protobuf.Any'
  return undefined
}

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
        `Expected \`dataType\` to be 'json', 'text', 'binary' or 'protobuf', got \`${formatValue(dataType)}\``,
      )
  }
}

/** The error for data that is not what its type wants. */
export const unfit = (dataType: string, expected: string, data: unknown): ArgumentError =>
  new ArgumentError(
    `Expected ${expected} for data of type ${dataType}, got \`${formatValue(data).slice(0, 80)}\` (${typeof data})`,
  )
