import { BehaviorSubject, Subject } from 'rxjs'
import { StateStoreError } from '../../core/util/errors.js'
import { ReportSubject } from '../../node/net/report-subject.js'
import type { Availability } from '../log/cluster/log-health-monitor.js'
import type { LogEvents } from '../log/cluster/settings.js'
import { StreamError } from '../log/cluster/stream.js'
import type { LogFailure } from '../log/log.js'
import type { RequestReport } from '../service/store-service.js'
import type { Fault, StorageStatus } from './store-server.js'

/** A store's subjects, which survive its restarts. `storage$` emits the current status on subscription. */
export interface StoreEvents {
  readonly requests$: Subject<RequestReport>
  readonly drift$: Subject<number>
  readonly faults$: Subject<Fault>
  readonly storage$: BehaviorSubject<StorageStatus>
  readonly log$: BehaviorSubject<LogEvent | undefined>
  /** Emits problems with the replicated log that do not stop it, and `undefined` when they end. */
  readonly concern$: Subject<unknown>
}

export type LogEvent =
  | { readonly type: 'available'; readonly availability: Availability; readonly cause: unknown }
  | { readonly type: 'outrun' }
  | { readonly type: 'failed'; readonly error: unknown }

export const STORAGE_KEPT: StorageStatus = { state: 'kept', error: undefined }

export const storageStatusOf = (failure: LogFailure | undefined): StorageStatus =>
  failure === undefined
    ? STORAGE_KEPT
    : { state: failure.problem === 'full' ? 'full' : 'broken', error: failure.cause ?? failure }

export const newFaultSubject = (): ReportSubject<Fault> =>
  new ReportSubject<Fault>(count => ({
    clientId: '',
    error: new StateStoreError('overflow', `${count} further faults at the same time were not reported`),
  }))

export const newStoreEvents = (): StoreEvents => ({
  requests$: new Subject(),
  drift$: new Subject(),
  faults$: newFaultSubject(),
  storage$: new BehaviorSubject(STORAGE_KEPT),
  log$: new BehaviorSubject<LogEvent | undefined>(undefined),
  concern$: new Subject(),
})

export const logEventListener = ({ log$, faults$ }: StoreEvents): LogEvents => ({
  onAvailability: (availability, cause) => log$.next({ type: 'available', availability, cause }),
  onOutrun: () => log$.next({ type: 'outrun' }),
  onFailed: error => log$.next({ type: 'failed', error }),
  onError: error => {
    // `onAvailability` already reports an outage of the log servers once.
    if (!(error instanceof StreamError)) faults$.next({ clientId: '', error })
  },
})

export const concernListener =
  ({ concern$ }: StoreEvents) =>
  (concern: unknown): void =>
    concern$.next(concern)

export const faultListener =
  ({ faults$ }: StoreEvents) =>
  (error: unknown): void =>
    faults$.next({ clientId: '', error })
