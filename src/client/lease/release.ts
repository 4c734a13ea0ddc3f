import { AsyncSubject, catchError, EMPTY, finalize, Observable, takeUntil } from 'rxjs'
import type { KeyName } from '../../core/protocol/commands.js'
import type { Clock } from '../../core/util/clock.js'
import { StateStoreError } from '../../core/util/errors.js'
import type { ClientHost } from '../connect/client-host.js'
import { giveBack } from './claim.js'

/** A client that is closed waits no longer than this, ms. */
const FAREWELL = 1_000

/** Gives a lease back now; a client that is closed meanwhile waits for it. What goes wrong is reported. */
export function release(host: ClientHost, key: KeyName, holder: string, timeout: number): void {
  const released$ = new AsyncSubject<unknown>()
  const farewell = (isConnected: boolean): Observable<unknown> =>
    isConnected ? released$.pipe(takeUntil(after(FAREWELL, host.clock))) : EMPTY
  host.farewells.add(farewell)
  giveBack(host, key, holder, timeout)
    .pipe(
      catchError(error => {
        if (isNews(error)) host.report(error)
        return EMPTY
      }),
      finalize(() => host.farewells.delete(farewell)),
    )
    .subscribe(released$)
}

/** A client that is gone, and a key that never was a lock, were told before. */
const isNews = (error: unknown): error is StateStoreError =>
  error instanceof StateStoreError && error.code !== 'closed' && error.code !== 'fencing-token-required'

const after = (delay: number, clock: Clock): Observable<void> =>
  new Observable(subscriber => clock.schedule(delay, () => subscriber.next()))
