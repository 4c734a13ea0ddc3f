import { ArgumentError } from '../../core/util/errors.js'
import { isNestedWithin } from '../wire/json-scan.js'
import { MAXIMUM_NESTING } from '../wire/nesting.js'
import { toJson } from '../wire/outgoing.js'

/** In JSON frames the frame itself is a level. */
const DEEPEST = MAXIMUM_NESTING - 1

/**
 * JSON text of a value that a client may send. Raises {@link ArgumentError} for a value that has none, and for one that
 * makes a hub end the session: `null`, also where it stands for `NaN`, an invalid `Date` or the result of `toJSON`, and
 * deep nesting. The same goes for a `Map`, a `Set`, a `Blob` and the like, which would silently become `{}`.
 *
 * @example
 * ```ts
 * toSentJson({ celsius: 21 }) // '{"celsius":21}'
 * ```
 */
export function toSentJson(value: unknown): string {
  const text = toJson(value)
  if (text === 'null') throw new ArgumentError('Data of type json must not be null, nor what becomes null in JSON')
  if (text === '{}' && !isPlain(value)) throw new ArgumentError('Data of type json would become {}: convert it first')
  if (isNestedWithin(DEEPEST, text)) return text
  throw new ArgumentError(`Data of type json must not be nested deeper than ${DEEPEST} levels`)
}

// Classes of one's own are plain, too, and objects of another realm.
const isPlain = (value: unknown): boolean => Object.prototype.toString.call(value) === '[object Object]'
