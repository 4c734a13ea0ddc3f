import { BehaviorSubject, Subject } from 'rxjs'
import type { Availability } from '../log/cluster/log-health-monitor.js'
import type { LogEvents } from '../log/cluster/settings.js'
import { StreamError } from '../log/cluster/stream.js'
import type { LogFailure } from '../log/log.js'
import type { RequestReport } from '../service/store-service.js'
import type { Fault, StorageStatus } from './store-server.js'

/** Events of a running store, through all its restarts; `storage$` has the last one. */
export interface StoreEvents {
  readonly requests$: Subject<RequestReport>
  readonly drift$: Subject<number>
  readonly faults$: Subject<Fault>
  readonly storage$: BehaviorSubject<StorageStatus>
  /** The last that was said of a log that nodes share. */
  readonly log$: BehaviorSubject<LogEvent | undefined>
  /** What is wrong with how that log is kept, though it goes on; `undefined` for nothing. */
  readonly concern$: Subject<unknown>
}

/** What becomes of a log that nodes share. */
export type LogEvent =
  | { readonly type: 'available'; readonly availability: Availability; readonly cause: unknown }
  | { readonly type: 'outrun' }
  | { readonly type: 'failed'; readonly error: unknown }

/** Everything that was answered is there. */
export const STORAGE_KEPT: StorageStatus = { state: 'kept', error: undefined }

/** What becomes of what is written, by the last that the log did not take. */
export const storageStatusOf = (failure: LogFailure | undefined): StorageStatus =>
  failure === undefined
    ? STORAGE_KEPT
    : { state: failure.problem === 'full' ? 'full' : 'broken', error: failure.cause ?? failure }

/** StoreEvents without listeners. */
export const newStoreEvents = (): StoreEvents => ({
  requests$: new Subject(),
  drift$: new Subject(),
  faults$: new Subject(),
  storage$: new BehaviorSubject(STORAGE_KEPT),
  log$: new BehaviorSubject<LogEvent | undefined>(undefined),
  concern$: new Subject(),
})

/** Where a log that nodes share says what becomes of it. */
export const logEventListener = ({ log$, faults$ }: StoreEvents): LogEvents => ({
  available: (availability, cause) => log$.next({ type: 'available', availability, cause }),
  outrun: () => log$.next({ type: 'outrun' }),
  failed: error => log$.next({ type: 'failed', error }),
  troubled: error => {
    // While it cannot be reached that is said once.
    if (!(error instanceof StreamError)) faults$.next({ clientId: '', error })
  },
})

/** Where it is said how a log that nodes share is kept. */
export const concernListener =
  ({ concern$ }: StoreEvents) =>
  (concern: unknown): void =>
    concern$.next(concern)

/** Where errors go that no client is to blame for. */
export const faultListener =
  ({ faults$ }: StoreEvents) =>
  (error: unknown): void =>
    faults$.next({ clientId: '', error })
