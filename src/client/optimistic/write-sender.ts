import type { Unsubscribable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { SetCondition } from '../../core/protocol/commands.js'
import { sameBytes } from '../../core/util/bytes.js'
import { ArgumentError, DecodeError, type ErrorCode, reason, StateStoreError } from '../../core/util/errors.js'
import { encodeFor } from '../keys/codec.js'
import type { KeySource } from '../keys/source.js'
import type { WriteResult } from '../requests/commands.js'
import type { Position, StoreValue } from './confirmed-state.js'
import { ConflictError, OfflineError } from './errors.js'
import { canWait, type Merge, type OptimisticSettings } from './options.js'
import type { Seen, UserWrite } from './user-write.js'

const MAX_MERGES = 16

/** Errors after which a write may have been applied: the response was lost or unreadable. */
const UNCERTAIN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['outcome-unknown', 'payload', 'hlc', 'service-unknown'])

/** Errors of a write that did not reach a store. */
const UNSENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['timeout', 'overflow', 'argument', 'closed', 'no-store'])

/** A write's outcomes, exactly one of which occurs. */
export interface WriteSenderListener<T> {
  /** @param value - the written value, or the result of the merge */
  applied(write: UserWrite<T>, value: T, version: Hlc | undefined): void
  /** Called when the merge was based on an outdated value. */
  outdated(write: UserWrite<T>): void
  lost(write: UserWrite<T>, error: StateStoreError): void
  /**
   * Called when the write did not reach a store.
   *
   * @param error - why the write fails; `undefined` if it may wait for the next connection
   */
  unsent(write: UserWrite<T>, error: StateStoreError | undefined): void
  refused(write: UserWrite<T>, error: StateStoreError): void
}

interface ActiveWrite<T> {
  readonly write: UserWrite<T>
  isSent: boolean
  /** The request; `undefined` until the call that sends it has returned. */
  request: Unsubscribable | undefined
}

export class WriteSender<T> {
  readonly #source: KeySource<T>
  readonly #settings: OptimisticSettings<T>
  readonly #listener: WriteSenderListener<T>
  #active: ActiveWrite<T> | undefined

  constructor(source: KeySource<T>, settings: OptimisticSettings<T>, listener: WriteSenderListener<T>) {
    this.#source = source
    this.#settings = settings
    this.#listener = listener
  }

  get active(): UserWrite<T> | undefined {
    return this.#active?.write
  }

  /** Drops the request of a write that still waits for room among the requests in flight. Returns whether it did. */
  tryWithdraw(write: UserWrite<T>): boolean {
    const active = this.#active
    if (active?.write !== write || active.isSent || active.request === undefined) return false
    this.#active = undefined
    active.request.unsubscribe()
    return true
  }

  send(write: UserWrite<T>, known: StoreValue | undefined, position: Position): void {
    const { host, key, codec } = this.#source
    const { expiresIn: px, persist, timeout, offline } = this.#settings
    const age = write.age(host.registry.clock)
    const active: ActiveWrite<T> = { write, isSent: false, request: undefined }
    this.#active = active
    try {
      const { value, condition } = contentFor(this.#source, this.#settings, write, known)
      write.bytes = encodeFor(key.text, codec, value)
      write.sentAfter ??= age
      write.sentPosition = position
      const timeoutMs = write.isLate && canWait(offline) ? timeout : Math.max(1, Math.ceil(timeout - age))
      // With a policy, an outage applies even to a write that waits for room among the requests in flight.
      const isBoundToConnection = offline !== undefined
      const sent = (): void => {
        active.isSent = true
      }
      const options = { condition, px, persist, fencingToken: host.fencingToken, isBoundToConnection, sent }
      active.request = host.store.set(key, write.bytes, options, timeoutMs).subscribe({
        next: written => this.#onResponse(write, value, written),
        error: error => this.#onError(write, error),
      })
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      this.#active = undefined
      this.#listener.unsent(write, error)
    }
  }

  #onResponse(write: UserWrite<T>, value: T, { applied, version }: WriteResult): void {
    this.#active = undefined
    if (applied) this.#listener.applied(write, value, version)
    else this.#onConflict(write, version)
  }

  #onConflict(write: UserWrite<T>, version: Hlc | undefined): void {
    const isMerged = typeof conflictModeOf(this.#settings, write) === 'function'
    if (isMerged && ++write.mergeAttempts < MAX_MERGES) {
      this.#listener.outdated(write)
      return
    }
    const why = isMerged ? 'another client changed the key during each merge' : 'the key has changed since it was seen'
    this.#listener.refused(write, new ConflictError(why, this.#source.key.text, version))
  }

  #onError(write: UserWrite<T>, error: StateStoreError): void {
    this.#active = undefined
    if (UNCERTAIN.has(error.code)) this.#listener.lost(write, error)
    else if (error.code === 'connection-lost') this.#onConnectionLost(write, error)
    else if (UNSENT.has(error.code)) this.#listener.unsent(write, error)
    else this.#listener.refused(write, error)
  }

  #onConnectionLost(write: UserWrite<T>, cause: StateStoreError): void {
    write.sentAfter = undefined
    const isWaiting = canWait(this.#settings.offline)
    const why = 'the connection was lost first'
    this.#listener.unsent(write, isWaiting ? undefined : new OfflineError(why, this.#source.key.text, { cause }))
  }
}

export const conflictModeOf = <T>(
  settings: OptimisticSettings<T>,
  { isLate }: Pick<UserWrite<T>, 'isLate'>,
): 'last' | 'refuse' | Merge<T> => (isLate && settings.offline === 'cas' ? 'refuse' : settings.conflict)

const MISSING: Seen = { bytes: undefined, version: undefined }

export interface WriteContent<T> {
  readonly value: T
  readonly condition: SetCondition | undefined
}

/**
 * Returns the content that a write sends, given the known value. Throws {@link ConflictError}, and
 * {@link ArgumentError} for a merge that throws.
 */
export function contentFor<T>(
  source: KeySource<T>,
  settings: OptimisticSettings<T>,
  write: UserWrite<T>,
  known: StoreValue | undefined,
): WriteContent<T> {
  const { text } = source.key
  const mode = conflictModeOf(settings, write)
  if (mode === 'last') return { value: write.value, condition: undefined }
  const { conflict } = settings
  const seen = mode === 'refuse' ? seenBy(write, known) : known
  // A late write with `cas` by a user who has seen nothing must not overwrite anything.
  const expected = seen ?? (conflict === 'last' ? MISSING : undefined)
  // The user may have changed an older value than the last one they saw.
  const value =
    typeof conflict === 'function' ? mergeValue(conflict, write, expected, one => decodeSeen(source, one)) : write.value
  return { value, condition: conditionFor(expected, text) }
}

/**
 * Returns the value that the user saw, with its bytes if they are known. The bytes are unknown for stored writes and
 * for writes that are based on them.
 */
const seenBy = <T>({ seen }: UserWrite<T>, known: StoreValue | undefined): Seen | undefined =>
  seen?.version && String(seen.version) === String(known?.version) ? known : seen

/** Decodes the value that the user saw. Returns `undefined` for a missing key or a value that does not decode. */
function decodeSeen<T>(source: KeySource<T>, seen: Seen | undefined): T | undefined {
  try {
    return seen?.bytes && source.value(seen.bytes, seen.version)
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

/** Returns the condition that the key is unchanged. Throws {@link ConflictError} if the condition cannot be checked. */
export function conditionFor(seen: Seen | undefined, key: string): SetCondition {
  if (seen === undefined) throw new ConflictError('its `state$` has not emitted a value yet', key)
  if (seen.bytes === undefined) return { type: 'NX' }
  if (seen.version === undefined) throw new ConflictError('the store sends no versions', key)
  return { type: 'IFVER', version: seen.version }
}

/**
 * Merges the user's value with the known one if the user changed a different one. Throws {@link ArgumentError} for
 * anything that `merge` throws.
 *
 * @param decode - returns `undefined` if there is no value
 */
export function mergeValue<T>(
  merge: Merge<T>,
  { value, base }: Pick<UserWrite<T>, 'value' | 'base'>,
  known: Seen | undefined,
  decode: (of: Seen | undefined) => T | undefined,
): T {
  if (sameBytes(base, known?.bytes)) return value
  try {
    return merge(value, decode(known), decode({ bytes: base, version: undefined }))
  } catch (cause) {
    throw new ArgumentError(`The values cannot be merged: ${reason(cause)}`, { cause })
  }
}
