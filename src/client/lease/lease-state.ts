import type { Hlc } from '../../core/hlc/hlc.js'
import type { LeaseLostError } from './errors.js'

/** Where a lease stands. */
export type LeaseState =
  | {
      readonly status: 'held'
      /**
       * Fencing token of this holding: the version of the lock key when it was acquired. It stays the same through all
       * renewals: the next holder's is newer than any of their versions, and writes of one holding that overtake each
       * other do not fence each other off. (State store protocol, "Locking and fencing tokens".)
       */
      readonly token: Hlc
      /**
       * When it is lost unless renewed: ms on the monotonic clock (`performance.now()`), counted from before the request
       * was sent. Every renewal emits a later one.
       */
      readonly expiresAt: number
      readonly holder: string
    }
  | { readonly status: 'waiting'; readonly holder: string }
  /** Lost, and asked for anew. */
  | { readonly status: 'lost'; readonly cause: LeaseLostError }

/** What one attempt to acquire came to. */
export type Acquisition =
  | { readonly acquired: true; readonly token: Hlc; readonly expiresAt: number; readonly holder: string }
  /** `holder` is missing when the lease was given back meanwhile. */
  | { readonly acquired: false; readonly holder: string | undefined }
