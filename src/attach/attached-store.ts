import type { Observable } from 'rxjs'
import type { StateStoreError } from '../base/errors.js'
import type { DumpLine } from '../dump/dump-line.js'
import type { AuditEvent } from '../listeners/audit.js'
import type { RequestReport } from '../server/state-store-server.js'
import type { Fault, StorageStatus } from '../standalone/running-store.js'

/** What an attached store does. */
export type AttachedState =
  /** On its way to the broker, or finding out whether another store serves there. */
  | { readonly state: 'connecting' }
  /** Another store serves; this one takes over when it is gone. */
  | { readonly state: 'standby' }
  /** `life` is another one after every start, and whenever registrations of before are not known any more. */
  | { readonly state: 'serving'; readonly life: string }
  | { readonly state: 'reconnecting'; readonly cause: StateStoreError }
  /** For good; without a cause by `close`. Anything but an error of ours is one of the system, about the directory. */
  | { readonly state: 'closed'; readonly cause: unknown }

/** A glance at an attached store. */
export interface AttachedStats {
  readonly keys: number
  /** What keys, values and watched keys take, bytes. */
  readonly bytes: number
  readonly watches: number
  /** Counts since it began to serve. */
  readonly requests: number
  readonly errors: number
  readonly notifications: number
}

/** A store that serves at a broker of somebody else; see {@link attach}. */
export interface AttachedStore extends AsyncDisposable {
  readonly clientId: string
  readonly state: AttachedState
  /** The latest first; completes after `closed`. */
  readonly state$: Observable<AttachedState>
  /** All 0 while it does not serve. */
  readonly stats: AttachedStats
  /** Every request, as it is answered. Hot. */
  readonly requests$: Observable<RequestReport>
  /** How far versions are ahead of the wall clock, ms, when that begins, and 0 when it is over. Hot. */
  readonly drift$: Observable<number>
  /** Errors of the store itself. Hot. */
  readonly faults$: Observable<Fault>
  /** Refusals: keys by the policy, and answers that would have gone to another client. Hot. */
  readonly audit$: Observable<AuditEvent>
  /** Whether what is written is kept on the disk, when it changes. Hot. */
  readonly storage$: Observable<StorageStatus>
  /** All keys as they are at this moment, one line for each; none while it does not serve. */
  dump(): Iterable<DumpLine>
  /** Says that it is away, and leaves the broker. What `data` does not hold is lost. */
  close(): Promise<void>
}
