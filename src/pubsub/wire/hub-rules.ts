import { isWellFormed } from '../../bytes.js'
import type { Payload } from './frames.js'
import { isNestedWithin } from './json-scan.js'
import { ANY, FieldReader } from './protobuf-fields.js'

/** Most characters (UTF-16 code units) of a group or event name. */
export const MAXIMUM_NAME = 1024

/**
 * How deep arrays and objects of a JSON text may be nested. `JSON.parse` takes any depth and `JSON.stringify` does not:
 * without a limit, one publisher could send what cannot be written to the subscribers.
 */
export const MAXIMUM_NESTING = 512

/** What is wrong with a group or event name: names are 1 to 1024 characters, not blank. */
export function nameProblem(what: 'group' | 'event', name: unknown): string | undefined {
  if (typeof name !== 'string') return `${what} must be a string`
  if (name.length > MAXIMUM_NAME) return `${what} must have at most ${MAXIMUM_NAME} characters, not ${name.length}`
  if (name.trim() === '') return `${what} must not be blank`
  return isWellFormed(name) ? undefined : `${what} must be of whole characters`
}

/** What is wrong with JSON text before it is parsed. */
export const nestingProblem = (text: string): string | undefined =>
  isNestedWithin(MAXIMUM_NESTING, text) ? undefined : `nested deeper than ${MAXIMUM_NESTING} levels`

/**
 * What is wrong with a payload: text must have UTF-8, and protobuf be a `google.protobuf.Any`, because subscribers of
 * the other subprotocol are sent it as a part of their frame, which else they could not read as a whole.
 */
export function payloadProblem({ dataType, data }: Payload): string | undefined {
  if (dataType === 'text' && !isWellFormed(data)) return 'data of type text must be of whole characters'
  if (dataType === 'protobuf' && !isAny(data)) return 'data of type protobuf must be a google.protobuf.Any'
  return undefined
}

function isAny(bytes: Uint8Array): boolean {
  const reader = new FieldReader(bytes)
  try {
    for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
      if (tag === ANY.typeUrl) reader.string(true)
      else reader.skipField(tag)
    }
    return true
  } catch {
    return false
  }
}
