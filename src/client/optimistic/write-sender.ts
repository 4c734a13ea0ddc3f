import type { Hlc } from '../../core/hlc/hlc.js'
import type { SetCondition } from '../../core/protocol/commands.js'
import { ArgumentError, DecodeError, type ErrorCode, reason, StateStoreError } from '../../core/util/errors.js'
import { encodeFor } from '../keys/codec.js'
import type { KeySource } from '../keys/source.js'
import type { WriteResult } from '../requests/commands.js'
import { type Known, type Place, sameValue } from './confirmed-state.js'
import { ConflictError } from './errors.js'
import { type Merge, type Terms, waits } from './options.js'
import type { Seen, UserWrite } from './user-write.js'

/** So often a write is merged with what others wrote in between. */
const MOST_MERGES = 16

/** Codes of answers that are lost, or cannot be read: the write may have been done. */
const UNCERTAIN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['outcome-unknown', 'payload', 'hlc', 'service-unknown'])

/** What is told of a write that was sent; one of these, once. */
export interface SenderListener<T> {
  /** @param value - what was written; with a merge its result */
  applied(write: UserWrite<T>, value: T, version: Hlc | undefined): void
  /** It was to be merged with something that is not there any more. */
  outdated(write: UserWrite<T>): void
  /** Its answer is lost. */
  lost(write: UserWrite<T>, error: StateStoreError): void
  /** It was not done. */
  refused(write: UserWrite<T>, error: StateStoreError): void
}

/** Sends writes, one at a time. */
export class WriteSender<T> {
  readonly #source: KeySource<T>
  readonly #terms: Terms<T>
  readonly #listener: SenderListener<T>
  #active: UserWrite<T> | undefined

  constructor(source: KeySource<T>, terms: Terms<T>, listener: SenderListener<T>) {
    this.#source = source
    this.#terms = terms
    this.#listener = listener
  }

  /** The write under way. */
  get active(): UserWrite<T> | undefined {
    return this.#active
  }

  /** Sends a write on top of what is known. */
  send(write: UserWrite<T>, known: Known | undefined, place: Place): void {
    const { host, key, codec } = this.#source
    const { expiresIn: px, persist, timeout, offline } = this.#terms
    const age = write.age(host.registry.clock)
    this.#active = write
    try {
      const { value, condition } = contentOf(this.#source, this.#terms, write, known)
      write.bytes = encodeFor(key.text, codec, value)
      write.sentAfter ??= age
      write.from = place
      const left = write.late && waits(offline) ? timeout : Math.max(1, Math.ceil(timeout - age))
      const options = { condition, px, persist, fencingToken: host.fencingToken }
      host.store.set(key, write.bytes, options, left).subscribe({
        next: written => this.#answered(write, value, written),
        error: error => this.#failed(write, error),
      })
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      this.#failed(write, error)
    }
  }

  #answered(write: UserWrite<T>, value: T, { applied, version }: WriteResult): void {
    this.#active = undefined
    if (applied) this.#listener.applied(write, value, version)
    else this.#conflicted(write, version)
  }

  /** The key is not what it was to be. */
  #conflicted(write: UserWrite<T>, version: Hlc | undefined): void {
    const isMerged = typeof modeOf(this.#terms, write) === 'function'
    if (isMerged && ++write.attempts < MOST_MERGES) {
      this.#listener.outdated(write)
      return
    }
    const why = isMerged
      ? 'somebody else was quicker each time it was merged'
      : 'the key has been changed since it was seen'
    this.#listener.refused(write, new ConflictError(why, this.#source.key.text, version))
  }

  #failed(write: UserWrite<T>, error: StateStoreError): void {
    this.#active = undefined
    if (UNCERTAIN.has(error.code)) this.#listener.lost(write, error)
    else this.#listener.refused(write, error)
  }
}

/** What a write does when somebody else has changed the key. */
export const modeOf = <T>(terms: Terms<T>, { late }: Pick<UserWrite<T>, 'late'>): 'last' | 'refuse' | Merge<T> =>
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
  write: UserWrite<T>,
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
const seenBy = <T>({ seen }: UserWrite<T>, known: Known | undefined): Seen | undefined =>
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
  { value, base }: Pick<UserWrite<T>, 'value' | 'base'>,
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
