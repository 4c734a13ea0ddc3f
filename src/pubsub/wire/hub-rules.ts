import { isWellFormed } from '../../bytes.js'
import { isAny } from './any.js'
import type { Payload } from './frames.js'

export { MAXIMUM_NESTING, nestingProblem } from './nesting.js'

/** Most characters (UTF-16 code units) of a group or event name. */
export const MAXIMUM_NAME = 1024

/** What is wrong with a group or event name: names are 1 to 1024 characters, not blank. */
export function nameProblem(what: 'group' | 'event', name: unknown): string | undefined {
  if (typeof name !== 'string') return `${what} must be a string`
  if (name.length > MAXIMUM_NAME) return `${what} must have at most ${MAXIMUM_NAME} characters, not ${name.length}`
  if (name.trim() === '') return `${what} must not be blank`
  return isWellFormed(name) ? undefined : `${what} must be of whole characters`
}

/**
 * What is wrong with a payload: text must have UTF-8, and protobuf be a `google.protobuf.Any`, because subscribers of
 * the other subprotocol are sent it as a part of their frame, which else they could not read as a whole.
 */
export function payloadProblem({ dataType, data }: Payload): string | undefined {
  if (dataType === 'text' && !isWellFormed(data)) return 'data of type text must be of whole characters'
  if (dataType === 'protobuf' && !isAny(data)) return 'data of type protobuf must be a google.protobuf.Any'
  return undefined
}
