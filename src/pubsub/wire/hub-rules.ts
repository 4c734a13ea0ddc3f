import { isWellFormed } from '../../core/util/bytes.js'
import { isAny } from './any.js'
import type { Payload } from './frames.js'
import { isName, LONGEST_NAME } from './names.js'

export { MAXIMUM_NESTING, nestingProblem } from './nesting.js'

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
