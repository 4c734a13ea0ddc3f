import {
  AsyncSubject,
  catchError,
  defer,
  EMPTY,
  finalize,
  map,
  type Observable,
  type OperatorFunction,
  takeUntil,
} from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { PayloadError, StateStoreError } from '../../core/util/errors.js'
import { isPermanentError } from '../../core/util/transient-errors.js'
import type { ClientHost } from '../connect/client.js'
import { text } from '../keys/codec.js'
import { after } from '../requests/after.js'
import type { WriteResult } from '../requests/commands.js'
import { LockKeyError } from './lease-state.js'

/**
 * A deadline that passes when either clock reaches it, because the monotonic clock stops while a machine sleeps. Times
 * in ms.
 */
export interface LeaseDeadline {
  readonly monotonic: number
  readonly wall: number
}

export const hasExpired = ({ monotonic, wall }: LeaseDeadline, clock: Clock): boolean =>
  clock.monotonic() >= monotonic || clock.now() >= wall

export interface Claimant {
  readonly host: ClientHost
  readonly key: KeyName
  readonly holder: string
}

export interface ClaimResult {
  /** Whether the lock key now names the claimant. */
  readonly applied: boolean
  readonly version: Hlc
  /** Counted from before the request was sent, so that it passes here before the key expires at the store. */
  readonly expiry: LeaseDeadline
}

/**
 * Acquires or renews a lease: `SET key holder NEX PX duration` (state store protocol, "Locking"). Cold. Errors as any SET
 * does, and with `lock-key` when the key is protected by a fencing token.
 */
export function acquireOrRenew(
  { host: { store, clock }, key, holder }: Claimant,
  { duration, timeout }: { readonly duration: number; readonly timeout: number },
): Observable<ClaimResult> {
  return defer(() => {
    const expiry = { monotonic: clock.monotonic() + duration, wall: clock.now() + duration }
    const write = { condition: { type: 'NEX', comparand: undefined }, px: duration } as const
    return store.set(key, utf8(holder), write, timeout).pipe(
      fenceAsLockError(key),
      map(({ applied, version }) => {
        if (version === undefined) throw new PayloadError(`The store sent no version of the lock key ${key.text}`)
        return { applied, version, expiry }
      }),
    )
  })
}

export const isTransientError = (error: unknown): error is StateStoreError =>
  error instanceof StateStoreError && !isPermanentError(error)

const deleteIfHeld = ({ host: { store }, key, holder }: Claimant, timeout: number): Observable<unknown> =>
  store.deleteIf(key, utf8(holder), undefined, timeout)

/** Returns the holder that a lock key names. Throws {@link LockKeyError} if the value is not a name. */
export function holderOf(key: KeyName, value: Uint8Array): string {
  if (value.length === 0) throw new LockKeyError(key.text, 'its value is empty and names no holder')
  try {
    return text.decode(value)
  } catch (cause) {
    throw new LockKeyError(key.text, 'its value is not text and names no holder', { cause })
  }
}

const FENCING_ERRORS: ReadonlySet<unknown> = new Set(['fencing-token-required', 'fencing-token-stale'])

function fenceAsLockError(key: KeyName): OperatorFunction<WriteResult, WriteResult> {
  return catchError((error: unknown) => {
    const isFenced = error instanceof StateStoreError && FENCING_ERRORS.has(error.code)
    throw isFenced ? new LockKeyError(key.text, 'it is protected by a fencing token', { cause: error }) : error
  })
}

const MAX_RELEASE_MS = 1_000

/** Releases a lease if the claimant holds it. Closing the client waits for the release. Errors are reported. */
export function releaseLease(claimant: Claimant, timeout: number): void {
  const { host } = claimant
  const released$ = new AsyncSubject<unknown>()
  const closeHook = (isConnected: boolean): Observable<unknown> =>
    isConnected ? released$.pipe(takeUntil(after(MAX_RELEASE_MS, host.clock))) : EMPTY
  host.closeHooks.add(closeHook)
  deleteIfHeld(claimant, timeout)
    .pipe(
      catchError(error => {
        if (shouldReport(error)) host.report(error)
        return EMPTY
      }),
      finalize(() => host.closeHooks.delete(closeHook)),
    )
    .subscribe(released$)
}

/**
 * Returns whether to report an error. A closed client and a key that is not a lock were already reported to the
 * subscriber.
 */
const shouldReport = (error: unknown): error is StateStoreError =>
  error instanceof StateStoreError && error.code !== 'closed' && error.code !== 'fencing-token-required'
