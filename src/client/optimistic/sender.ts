import type { Hlc } from '../../core/hlc/hlc.js'
import { type ErrorCode, StateStoreError } from '../../core/util/errors.js'
import { encodeFor } from '../keys/codec.js'
import type { KeySource } from '../keys/source.js'
import type { Written } from '../requests/commands.js'
import { contentOf, modeOf } from './condition.js'
import { ConflictError } from './errors.js'
import { type Terms, waits } from './options.js'
import type { Known, Place } from './truth.js'
import type { Write } from './write.js'

/** So often a write is merged with what others wrote in between. */
const MOST_MERGES = 16

/** Codes of answers that are lost, or cannot be read: the write may have been done. */
const UNCERTAIN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['outcome-unknown', 'payload', 'hlc', 'service-unknown'])

/** What is told of a write that was sent; one of these, once. */
export interface SenderListener<T> {
  /** @param value - what was written; with a merge its result */
  applied(write: Write<T>, value: T, version: Hlc | undefined): void
  /** It was to be merged with something that is not there any more. */
  outdated(write: Write<T>): void
  /** Its answer is lost. */
  lost(write: Write<T>, error: StateStoreError): void
  /** It was not done. */
  refused(write: Write<T>, error: StateStoreError): void
}

/** Sends writes, one at a time. */
export class Sender<T> {
  readonly #source: KeySource<T>
  readonly #terms: Terms<T>
  readonly #listener: SenderListener<T>
  #active: Write<T> | undefined

  constructor(source: KeySource<T>, terms: Terms<T>, listener: SenderListener<T>) {
    this.#source = source
    this.#terms = terms
    this.#listener = listener
  }

  /** The write under way. */
  get active(): Write<T> | undefined {
    return this.#active
  }

  /** Sends a write on top of what is known. */
  send(write: Write<T>, known: Known | undefined, place: Place): void {
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

  #answered(write: Write<T>, value: T, { applied, version }: Written): void {
    this.#active = undefined
    if (applied) this.#listener.applied(write, value, version)
    else this.#conflicted(write, version)
  }

  /** The key is not what it was to be. */
  #conflicted(write: Write<T>, version: Hlc | undefined): void {
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

  #failed(write: Write<T>, error: StateStoreError): void {
    this.#active = undefined
    if (UNCERTAIN.has(error.code)) this.#listener.lost(write, error)
    else this.#listener.refused(write, error)
  }
}
