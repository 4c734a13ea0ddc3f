import type { Observable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { Clock } from '../../core/util/clock.js'
import type { ErrorCode, StateStoreError } from '../../core/util/errors.js'
import type { StoreCommands } from '../requests/commands.js'
import type { Registry } from '../watch/registry.js'

/** Warns developers on the console of probable mistakes, once per kind. */
export function warnOnce(): KeyHost['warn'] {
  const warned = new Set<string>()
  return (kind, message) => {
    if (warned.has(kind)) return
    warned.add(kind)
    console.warn(`rx-statestore: ${message}`)
  }
}

export interface KeyHost {
  readonly store: StoreCommands
  readonly registry: Registry
  readonly clock: Clock
  /** Default timeout of a request, ms. */
  readonly timeout: number
  readonly report: (error: StateStoreError) => void
  /** Reports the error of a write whose result nothing observes. */
  readonly reportWrite: (error: StateStoreError) => void
  readonly warn: (kind: 'glob' | 'lease' | ErrorCode, message: string) => void
  /** Emits the connection's state on subscription and after every change; completes when the client is closed. */
  readonly status$: Observable<{ readonly state: string }>
  /** Fencing token of writes that do not set one. */
  readonly fencingToken?: Hlc | undefined
  /** Returns the time of the store, or of this machine while the difference is unknown, ms since the Unix epoch. */
  readonly storeTime: () => number
  readonly closeHooks: Set<CloseHook>
}

/**
 * Called when the client is closed deliberately; the client waits until the result completes. A hook must complete
 * within a bounded time and must not error.
 */
export type CloseHook = (isConnected: boolean) => Observable<unknown>
