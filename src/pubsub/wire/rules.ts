import { isBytes } from '../../core/util/built-in-types.js'
import { isWellFormed } from '../../core/util/bytes.js'
import { checkArgument } from '../../core/util/check.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { Payload } from './frames.js'
import { isAny } from './protobuf-any.js'

/** The maximum length of a group's or event's name in UTF-16 code units. */
export const MAX_NAME_LENGTH = 1024
const HUB_NAME = /^[A-Za-z][A-Za-z0-9_`,.[\]]{0,127}$/

/**
 * Returns whether a name is valid: 1 to 1024 characters, not blank, no lone surrogate. (JSON subprotocol reference;
 * service limits.)
 */
export const isName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= MAX_NAME_LENGTH && name.trim() !== '' && isWellFormed(name)

export function checkName(what: 'group' | 'event', name: string): void {
  if (isName(name)) return
  const shownName = formatValue(name).slice(0, 80)
  throw new ArgumentError(
    `Expected the name of the ${what}, 1 to ${MAX_NAME_LENGTH} characters, not blank, got \`${shownName}\``,
  )
}

/** Returns whether a name is valid for a hub: a letter, then up to 127 letters, digits and any of ``_`,.[]``. */
export const isHubName = (name: unknown): name is string => typeof name === 'string' && HUB_NAME.test(name)

export const hubKey = (name: string): string => name.toLowerCase()

export function checkHub(hub: string): void {
  checkArgument(isHubName(hub), `the name of the hub to match ${HUB_NAME}`, hub)
}

export function nameProblem(what: 'group' | 'event', name: unknown): string | undefined {
  if (isName(name)) return undefined
  if (typeof name !== 'string') return `${what} must be a string`
  if (name.length > MAX_NAME_LENGTH)
    return `${what} must have at most ${MAX_NAME_LENGTH} characters, not ${name.length}`
  return name.trim() === '' ? `${what} must not be blank` : `${what} must be well-formed`
}

/**
 * Describes why a payload is invalid. Text must be encodable as UTF-8, and protobuf data must be a
 * `google.protobuf.Any`. Otherwise, subscribers of the other subprotocol could not decode the frame that contains the
 * payload.
 */
export function payloadProblem({ dataType, data }: Payload): string | undefined {
  if (dataType === 'text' && !isWellFormed(data)) return 'data of type text must be well-formed'
  if (dataType === 'protobuf' && !isAny(data)) return 'data of type protobuf must be a google.protobuf.Any'
  return undefined
}

export const MAX_ID = 0xffff_ffff_ffff_ffffn

/** Returns the id. Throws {@link ArgumentError} if the id is negative or beyond 64 bits. */
export function checkedId(id: bigint): bigint {
  if (typeof id !== 'bigint' || id < 0n || id > MAX_ID) {
    throw new ArgumentError(`An id must be a bigint from 0n to ${MAX_ID}n`)
  }
  return id
}

/** Returns the name. Throws {@link ArgumentError} for a name with a lone surrogate, which UTF-8 cannot encode. */
export function checkedName(name: string): string {
  if (typeof name !== 'string' || !isWellFormed(name)) throw new ArgumentError('A name must be well-formed')
  return name
}

/**
 * Returns a payload of the given type. Throws {@link ArgumentError} if the data does not match its type, or for an
 * unknown type.
 */
export function payloadOf(dataType: unknown, data: unknown): Payload {
  switch (dataType) {
    case 'json':
      return { dataType, data }
    case 'text':
      if (typeof data === 'string' && isWellFormed(data)) return { dataType, data }
      throw wrongDataType(dataType, 'a well-formed string', data)
    case 'binary':
    case 'protobuf':
      if (isBytes(data)) return { dataType, data }
      throw wrongDataType(dataType, 'a Uint8Array', data)
    default:
      throw new ArgumentError(
        `Expected \`dataType\` to be 'json', 'text', 'binary' or 'protobuf', got \`${formatValue(dataType)}\``,
      )
  }
}

export const wrongDataType = (dataType: string, expected: string, data: unknown): ArgumentError =>
  new ArgumentError(
    `Expected ${expected} for data of type ${dataType}, got \`${formatValue(data).slice(0, 80)}\` (${typeof data})`,
  )
