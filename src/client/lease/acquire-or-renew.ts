import {
  AsyncSubject,
  catchError,
  defer,
  EMPTY,
  finalize,
  map,
  Observable,
  type OperatorFunction,
  takeUntil,
} from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { PayloadError, StateStoreError } from '../../core/util/errors.js'
import type { ClientHost } from '../connect/client.js'
import { text } from '../keys/codec.js'
import type { WriteResult } from '../requests/commands.js'
import { isPermanentError } from '../watch/permanent-errors.js'
import { LockKeyError } from './lease-state.js'

/** A time that is over as soon as one of two clocks says so: a machine that slept stops the monotonic one. */
export interface Expiry {
  /** ms on the monotonic clock. */
  readonly monotonic: number
  /** ms since the Unix epoch. */
  readonly wall: number
}

/** Whether the time is over. */
export const isOver = ({ monotonic, wall }: Expiry, clock: Clock): boolean =>
  clock.monotonic() >= monotonic || clock.now() >= wall

/** Who claims a lock key, and by which name. */
export interface Claimant {
  readonly host: ClientHost
  readonly key: KeyName
  readonly holder: string
}

/** The answer to a claim. */
export interface Claim {
  /** Whether the lock key now holds the claimant's name. */
  readonly applied: boolean
  readonly version: Hlc
  /** Counted from before the request was sent, so that it is over here before it is over at the store. */
  readonly expiry: Expiry
}

/**
 * Acquires or renews: `SET key holder NEX PX duration` (state store protocol, "Locking"). Cold. Errors with `lock-key`
 * when the key is protected by a fencing token, and as any SET does.
 */
export function acquireOrRenew(
  { host: { store, clock }, key, holder }: Claimant,
  { duration, timeout }: { readonly duration: number; readonly timeout: number },
): Observable<Claim> {
  return defer(() => {
    const expiry = { monotonic: clock.monotonic() + duration, wall: clock.now() + duration }
    const write = { condition: { type: 'NEX', comparand: undefined }, px: duration } as const
    return store.set(key, utf8(holder), write, timeout).pipe(
      fenceAsLockError(key),
      map(({ applied, version }) => {
        if (version === undefined) throw new PayloadError(`The store told no version of the lock key ${key.text}`)
        return { applied, version, expiry }
      }),
    )
  })
}

/** Whether a lease gets over an error by asking again. */
export const isPassing = (error: unknown): error is StateStoreError =>
  error instanceof StateStoreError && !isPermanentError(error)

/** Gives the lease back, unless it is somebody else's: `VDEL key holder`. */
const giveBack = ({ host: { store }, key, holder }: Claimant, timeout: number): Observable<unknown> =>
  store.deleteIf(key, utf8(holder), undefined, timeout)

/** The holder that a lock key's value names. Raises {@link LockKeyError}. */
export function holderOf(key: KeyName, value: Uint8Array): string {
  if (value.length === 0) throw new LockKeyError(key.text, 'its value is empty and names no holder')
  try {
    return text.decode(value)
  } catch (cause) {
    throw new LockKeyError(key.text, 'its value is not text and names no holder', { cause })
  }
}

const FENCED: ReadonlySet<unknown> = new Set(['fencing-token-required', 'fencing-token-stale'])

function fenceAsLockError(key: KeyName): OperatorFunction<WriteResult, WriteResult> {
  return catchError((error: unknown) => {
    const fenced = error instanceof StateStoreError && FENCED.has(error.code)
    throw fenced ? new LockKeyError(key.text, 'it is protected by a fencing token', { cause: error }) : error
  })
}

/** A client that is closed waits no longer than this, ms. */
const FAREWELL = 1_000

/** Gives a lease back now; a client that is closed meanwhile waits for it. What goes wrong is reported. */
export function releaseLease(claimant: Claimant, timeout: number): void {
  const { host } = claimant
  const released$ = new AsyncSubject<unknown>()
  const farewell = (isConnected: boolean): Observable<unknown> =>
    isConnected ? released$.pipe(takeUntil(after(FAREWELL, host.clock))) : EMPTY
  host.closeHooks.add(farewell)
  giveBack(claimant, timeout)
    .pipe(
      catchError(error => {
        if (isNews(error)) host.report(error)
        return EMPTY
      }),
      finalize(() => host.closeHooks.delete(farewell)),
    )
    .subscribe(released$)
}

/** A client that is gone, and a key that never was a lock, were told before. */
const isNews = (error: unknown): error is StateStoreError =>
  error instanceof StateStoreError && error.code !== 'closed' && error.code !== 'fencing-token-required'

const after = (delay: number, clock: Clock): Observable<void> =>
  new Observable(subscriber => clock.schedule(delay, () => subscriber.next()))
