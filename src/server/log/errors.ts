import { StateStoreError } from '../../core/util/errors.js'

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    /** Another process holds the directory. */
    'in-use': true
    'lock-unknown': true
    /** The directory does not belong to a store, or has a format that this version does not support. */
    format: true
    /** The snapshot that replaces a log could not be written. No data is lost. */
    'snapshot-failed': true
  }
}

/** Creates a `damaged` error: the stored data is corrupt or incomplete. */
export const damagedError = (why: string, options?: ErrorOptions): StateStoreError =>
  new StateStoreError('damaged', why, options)
