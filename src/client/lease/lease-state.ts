import type { Hlc } from '../../core/hlc/hlc.js'
import { StateStoreError } from '../../core/util/errors.js'

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
      readonly expiresAtMonotonic: number
      readonly holder: string
    }
  | { readonly status: 'waiting'; readonly holder: string }
  /** Lost, and asked for anew. */
  | { readonly status: 'lost'; readonly cause: LeaseLostError }

/** What one attempt to acquire came to. */
export type Acquisition =
  | { readonly acquired: true; readonly token: Hlc; readonly expiresAtMonotonic: number; readonly holder: string }
  /** `holder` is missing when the lease was given back meanwhile. */
  | { readonly acquired: false; readonly holder: string | undefined }

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    'lease-lost': true
    'lock-key': true
  }
}

/** Why a lease ended although its holder wanted to keep it. */
export type LeaseLossReason =
  /** Its time was over before a renewal was confirmed. */
  | 'expired'
  /** Somebody else holds it. */
  | 'taken'
  /** The lock key was deleted. */
  | 'revoked'
  /** It cannot be renewed any more: the client was closed, or the store refuses. */
  | 'ended'

/** The lease is gone and what it protected is no longer ours: stop the work, then acquire it anew if need be. */
export class LeaseLostError extends StateStoreError {
  override readonly name = 'LeaseLostError'
  readonly key: string
  readonly reason: LeaseLossReason

  constructor(reason: LeaseLossReason, key: string, options?: ErrorOptions) {
    super('lease-lost', `The lease ${JSON.stringify(key)} is lost: ${LOSSES[reason]}; acquire it anew`, options)
    this.key = key
    this.reason = reason
  }
}

const LOSSES: Record<LeaseLossReason, string> = {
  expired: 'its time was over before a renewal was confirmed',
  taken: 'somebody else holds it',
  revoked: 'its key was deleted',
  ended: 'it cannot be renewed any more',
}

/** The key is not a lock: its value does not name a holder, or it is protected by a fencing token itself. It was left as it is. */
export class LockKeyError extends StateStoreError {
  override readonly name = 'LockKeyError'
  readonly key: string

  constructor(key: string, problem: string, options?: ErrorOptions) {
    super(
      'lock-key',
      `The key ${JSON.stringify(key)} cannot be used as a lock: ${problem}; choose another name`,
      options,
    )
    this.key = key
  }
}
