import { Hlc } from '../hlc/hlc.js'
import { HlcError, PayloadError } from '../util/errors.js'
import { PROPERTY } from './properties.js'

/** What may carry a version: a response or a notification. */
interface Versioned {
  readonly userProperties: Readonly<Record<string, string | readonly string[]>>
}

/** The version a response or notification carries, if it carries one. Raises {@link PayloadError} for a malformed one. */
export const versionOf = ({ userProperties }: Versioned): Hlc | undefined => hlcOf(userProperties[PROPERTY.timestamp])

/**
 * The place among all changes of an answer that has no version of its own, from a store that tells it. Of this library alone,
 * so what cannot be read is another store's and means nothing.
 */
export function positionOf({ userProperties }: Versioned): Hlc | undefined {
  const text = userProperties[PROPERTY.position]
  if (text === undefined) return undefined
  try {
    return Hlc.parse(String(text))
  } catch {
    return undefined
  }
}

function hlcOf(text: string | readonly string[] | undefined): Hlc | undefined {
  if (text === undefined) return undefined
  try {
    return Hlc.parse(String(text))
  } catch (cause) {
    throw cause instanceof HlcError ? new PayloadError(`Malformed version: ${cause.message}`, { cause }) : cause
  }
}
