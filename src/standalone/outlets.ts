import { BehaviorSubject, Subject } from 'rxjs'
import type { LogFailure } from '../log/log.js'
import type { RequestReport } from '../server/state-store-server.js'
import type { Door } from './door.js'
import { Life } from './life.js'
import type { ServeOptions } from './options.js'
import type { Fault, StorageStatus } from './running-store.js'
import type { Opened } from './storage.js'

/** What a running store tells; storage$ has the last one. */
export interface Outlets {
  readonly requests$: Subject<RequestReport>
  readonly drift$: Subject<number>
  readonly faults$: Subject<Fault>
  readonly storage$: BehaviorSubject<StorageStatus>
}

/** Everything that was answered is there. */
export const KEPT: StorageStatus = { state: 'kept', error: undefined }

/** What becomes of what is written, by the last that the log did not take. */
export const statusOf = (failure: LogFailure | undefined): StorageStatus =>
  failure === undefined
    ? KEPT
    : { state: failure.problem === 'full' ? 'full' : 'broken', error: failure.cause ?? failure }

/** Outlets without listeners. */
export const newOutlets = (): Outlets => ({
  requests$: new Subject(),
  drift$: new Subject(),
  faults$: new Subject(),
  storage$: new BehaviorSubject(KEPT),
})

/** Starts a life of the store that is open; its log is closed again when it does not come to be. */
export async function begin(
  options: Required<ServeOptions>,
  outlets: Outlets,
  opened: Opened,
  door: Door,
): Promise<Life> {
  const { requests$, drift$, faults$, storage$ } = outlets
  const stored = (failure: LogFailure | undefined): void => storage$.next(statusOf(failure))
  try {
    return await Life.start(options, opened, requests$, drift$, faults$, stored, door)
  } catch (error) {
    await opened.log.close()
    throw error
  }
}

/** Where errors go that no client is to blame for. */
export const faultsTo =
  ({ faults$ }: Outlets) =>
  (error: unknown): void =>
    faults$.next({ clientId: '', error })
