import { Subject, type Subscriber, type Subscription } from 'rxjs'
import { sameBytes } from '../../core/util/bytes.js'
import { DecodeError, type StateStoreError } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import type { Freshness } from '../watch/freshness.js'
import type { StoreValue } from './confirmed-state.js'
import type { LateWriteInfo, OptimisticState } from './state.js'
import type { UserWrite } from './user-write.js'

export interface StateInputs<T> {
  readonly known: StoreValue | undefined
  /** The newest write without a result or position. */
  readonly shown: UserWrite<T> | undefined
  readonly outcomeError: StateStoreError | undefined
  readonly failure: StateStoreError | undefined
  /** The last applied write, if it was late. */
  readonly late: AppliedLateWrite | undefined
  readonly freshness: Freshness
}

export interface AppliedLateWrite extends Pick<StoreValue, 'bytes' | 'version'> {
  readonly lateness: LateWriteInfo
}

/** Builds states. Returns the same object until something changes. */
export class StateBuilder<T> {
  readonly #source: KeySource<T>
  #bytes: Uint8Array | undefined
  #decoded: { readonly value: T | undefined; readonly error: DecodeError | undefined } = NOTHING
  #state: OptimisticState<T> | undefined

  constructor(source: KeySource<T>) {
    this.#source = source
  }

  build({ known, shown, outcomeError, failure, late, freshness }: StateInputs<T>): OptimisticState<T> {
    const confirmed = this.decode(known)
    const next: OptimisticState<T> = {
      value: shown ? shown.value : confirmed.value,
      state: stateFor(known, shown, outcomeError, failure),
      confirmed: confirmed.value,
      version: known?.version,
      error: shown ? outcomeError : (failure ?? confirmed.error),
      late: shown ? shown.lateness : latenessOf(known, late),
      freshness,
    }
    if (this.#state === undefined || !isSame(this.#state, next)) this.#state = next
    return this.#state
  }

  decode(known: StoreValue | undefined): { readonly value: T | undefined; readonly error: DecodeError | undefined } {
    const bytes = known?.bytes
    if (bytes === undefined) return NOTHING
    if (bytes === this.#bytes) return this.#decoded
    const isDecoded = this.#decoded.error === undefined && sameBytes(bytes, this.#bytes)
    this.#bytes = bytes
    // A written value may return as different bytes with the same content, so the decoded object is kept.
    if (isDecoded) return this.#decoded
    try {
      this.#decoded = { value: this.#source.value(bytes, known?.version), error: undefined }
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.#decoded = { value: undefined, error }
    }
    return this.#decoded
  }
}

/** Returns the lateness of the store's value: none once another write has replaced the late one. */
function latenessOf(known: StoreValue | undefined, late: AppliedLateWrite | undefined): LateWriteInfo | undefined {
  if (known?.bytes === undefined || late?.bytes === undefined) return undefined
  return sameBytes(known.bytes, late.bytes) && String(known.version) === String(late.version)
    ? late.lateness
    : undefined
}

const NOTHING = { value: undefined, error: undefined }

function stateFor(
  known: StoreValue | undefined,
  shown: object | undefined,
  outcomeError: StateStoreError | undefined,
  failure: StateStoreError | undefined,
): OptimisticState<unknown>['state'] {
  if (shown) return outcomeError ? 'unknown' : 'pending'
  if (failure) return 'refused'
  return known ? 'confirmed' : 'connecting'
}

const FIELDS = ['value', 'state', 'confirmed', 'error'] as const

const isSame = (one: OptimisticState<unknown>, other: OptimisticState<unknown>): boolean =>
  FIELDS.every(field => Object.is(one[field], other[field])) &&
  String(one.version) === String(other.version) &&
  isSameFreshness(one.freshness, other.freshness) &&
  one.late?.since === other.late?.since &&
  one.late?.sentAfter === other.late?.sentAfter

const isSameFreshness = (one: Freshness, other: Freshness): boolean =>
  one.state === other.state && (one.state !== 'stale' || other.state !== 'stale' || one.since === other.since)

/** Emits states. A listener may trigger the next state reentrantly; all listeners receive them in order. */
export class StateEmitter<S> {
  readonly #states = new Subject<S>()
  readonly #latest: () => S
  #lastEmitted: S | undefined
  #isEmitting = false

  constructor(latest: () => S) {
    this.#latest = latest
  }

  listen(subscriber: Subscriber<S>): Subscription {
    this.emit()
    let last: S | undefined
    // The state that is being emitted may be the one that a subscriber received on joining.
    const next = (state: S): void => {
      if (state === last) return
      last = state
      subscriber.next(state)
    }
    next(this.#latest())
    const listening = this.#states.subscribe({
      next,
      error: error => subscriber.error(error),
      complete: () => subscriber.complete(),
    })
    // The subscriber may have triggered another state.
    next(this.#latest())
    return listening
  }

  emit(): void {
    if (this.#isEmitting) return
    this.#isEmitting = true
    for (let state = this.#latest(); state !== this.#lastEmitted; state = this.#latest()) {
      this.#lastEmitted = state
      this.#states.next(state)
    }
    this.#isEmitting = false
  }

  error(error: unknown): void {
    this.#states.error(error)
  }

  complete(): void {
    this.#states.complete()
  }
}
