import type { SetCondition } from '../../core/protocol/commands.js'
import { ArgumentError, DecodeError, reason } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import { ConflictError } from './errors.js'
import type { Merge, Terms } from './options.js'
import { type Known, sameValue } from './truth.js'
import type { Seen, Write } from './write.js'

/** What a write does when somebody else has changed the key. */
export const modeOf = <T>(terms: Terms<T>, { late }: Pick<Write<T>, 'late'>): 'last' | 'refuse' | Merge<T> =>
  late && terms.offline === 'cas' ? 'refuse' : terms.conflict

/** What a write sends. */
export interface Content<T> {
  readonly value: T
  readonly condition: SetCondition | undefined
}

/** What a write sends when so much is known. Raises {@link ConflictError}, and {@link ArgumentError} for a merge that throws. */
export function contentOf<T>(
  source: KeySource<T>,
  terms: Terms<T>,
  write: Write<T>,
  known: Known | undefined,
): Content<T> {
  const { text } = source.key
  const mode = modeOf(terms, write)
  if (mode === 'last') return { value: write.value, condition: undefined }
  const upon = mode === 'refuse' ? seenBy(write, known) : known
  const { conflict } = terms
  // What the user made the value from may be less than what was seen.
  const value =
    typeof conflict === 'function' ? merged(conflict, write, upon, one => valueIn(source, one)) : write.value
  return { value, condition: conditionFor(upon, text) }
}

/** What the user saw, with its value, which is not known of what was kept, nor of what is written upon that. */
const seenBy = <T>({ seen }: Write<T>, known: Known | undefined): Seen | undefined =>
  seen?.version && String(seen.version) === String(known?.version) ? known : seen

/** The value of something known, if it has one that decodes. */
function valueIn<T>(source: KeySource<T>, of: Seen | undefined): T | undefined {
  try {
    return of?.bytes && source.value(of.bytes, of.version)
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

/** Only while the key is what it was. Raises {@link ConflictError} where nobody can tell. */
export function conditionFor(seen: Seen | undefined, key: string): SetCondition {
  if (seen === undefined) throw new ConflictError('its `state$` has shown nothing of it yet', key)
  if (seen.bytes === undefined) return { type: 'NX' }
  if (seen.version === undefined) throw new ConflictError('the store gives the key no version', key)
  return { type: 'IFVER', version: seen.version }
}

/**
 * The value to write on top of what is known, if the user made it from something else. Raises {@link ArgumentError} for
 * whatever the function throws.
 *
 * @param decode - the value of something known, `undefined` for one that has none
 */
export function merged<T>(
  merge: Merge<T>,
  { value, base }: Pick<Write<T>, 'value' | 'base'>,
  known: Seen | undefined,
  decode: (of: Seen | undefined) => T | undefined,
): T {
  if (sameValue(base, known?.bytes)) return value
  try {
    return merge(value, decode(known), decode({ bytes: base, version: undefined }))
  } catch (cause) {
    throw new ArgumentError(`The values cannot be merged: ${reason(cause)}`, { cause })
  }
}
