import { StateStoreError } from '../../core/util/errors.js'

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    /** Another process has the directory. */
    'in-use': true
    /** A directory is none of a store, or of a version of it that is not known here. */
    format: true
    /** The snapshot that was to replace a log could not be written. Nothing is lost. */
    'snapshot-failed': true
  }
}

/** What was stored is not what was written, or cannot be all of it. */
export const damaged = (why: string, options?: ErrorOptions): StateStoreError =>
  new StateStoreError('damaged', why, options)
