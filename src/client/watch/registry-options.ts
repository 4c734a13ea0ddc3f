import type { Clock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { Store } from '../requests/commands.js'

/** What a registry needs to know. */
export interface RegistryOptions {
  readonly store: Store
  readonly clock: Clock
  /** Everything of a notification topic before the key. */
  readonly notificationPrefix: string
  /** ms a KEYNOTIFY or GET of a watch may take before it is tried again. */
  readonly timeout: number
  /** ms a registration outlives its last subscriber. */
  readonly stopDelay: number
  /** ms in which each watched key is registered and read once more; 0 for never. */
  readonly verifyEvery: number
  /** The number of watched keys changed, or of those that are synced. */
  readonly changed: () => void
  /** Faults that end no stream: malformed notifications, requests that are tried again, failed STOPs. */
  readonly report: (error: StateStoreError) => void
}
