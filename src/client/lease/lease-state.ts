import type { Hlc } from '../../core/hlc/hlc.js'
import { StateStoreError } from '../../core/util/errors.js'

/** A lease's state. */
export type LeaseState =
  | {
      readonly status: 'held'
      /**
       * Fencing token of this holding: the version of the lock key at acquisition. Renewals do not change the token, so
       * reordered writes of one holding do not fence each other off, and the next holder's token is newer than all
       * these writes (state store protocol, "Locking and fencing tokens").
       */
      readonly token: Hlc
      /**
       * Time when the lease expires unless it is renewed, ms on the monotonic clock (`performance.now()`), counted from
       * before the request was sent. Every renewal emits a later time.
       */
      readonly expiresAtMonotonic: number
      readonly holder: string
    }
  | { readonly status: 'waiting'; readonly holder: string }
  /** The lease was lost and is being requested again. */
  | { readonly status: 'lost'; readonly cause: LeaseLostError }

/** The result of {@link Lease.tryAcquire}. */
export type Acquisition =
  | { readonly acquired: true; readonly token: Hlc; readonly expiresAtMonotonic: number; readonly holder: string }
  /** `holder` is missing if the lease was released in the meantime. */
  | { readonly acquired: false; readonly holder: string | undefined }

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    'lease-lost': true
    'lock-key': true
  }
}

/** Why a held lease was lost. */
export type LeaseLossReason =
  /** The lease expired before a renewal was confirmed. */
  | 'expired'
  /** Another holder acquired the lease. */
  | 'taken'
  /** The lock key was deleted. */
  | 'revoked'
  /** The lease cannot be renewed: the client was closed, or the store rejects renewals. */
  | 'ended'

/** The lease was lost (`lease-lost`): stop the work that it protects, and acquire the lease again if needed. */
export class LeaseLostError extends StateStoreError {
  override readonly name = 'LeaseLostError'
  readonly key: string
  readonly reason: LeaseLossReason

  constructor(reason: LeaseLossReason, key: string, options?: ErrorOptions) {
    super('lease-lost', `The lease ${JSON.stringify(key)} is lost: ${LOSS_TEXTS[reason]}; acquire it again`, options)
    this.key = key
    this.reason = reason
  }
}

const LOSS_TEXTS: Record<LeaseLossReason, string> = {
  expired: 'it expired before a renewal was confirmed',
  taken: 'another holder acquired it',
  revoked: 'its key was deleted',
  ended: 'it cannot be renewed',
}

/**
 * The key is not a lock (`lock-key`): its value does not name a holder, or a fencing token protects it. The key was left
 * unchanged.
 */
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
