import type { Hlc } from '../../core/hlc/hlc.js'
import { StateStoreError } from '../../core/util/errors.js'

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    conflict: true
    offline: true
  }
}

/** The key is not what it was when the value was written, and the value was not to replace anything else. Nothing was changed. */
export class ConflictError extends StateStoreError {
  override readonly name = 'ConflictError'
  readonly key: string
  /** What the key has instead; `undefined` when it is gone, or when that is not known. */
  readonly version: Hlc | undefined

  constructor(why: string, key: string, version?: Hlc) {
    super(
      'conflict',
      `The write to key ${JSON.stringify(key)} was refused: ${why}; look at the value, then write again`,
    )
    this.key = key
    this.version = version
  }
}

/** A write has waited for the connection for as long as it may, ms. */
export const offlineTimeout = (limit: number, key: string): OfflineError =>
  new OfflineError(`it waited for the connection longer than ${limit} ms`, key)

/** The value was not sent, because there was no connection, and will not be. Nothing was changed. */
export class OfflineError extends StateStoreError {
  override readonly name = 'OfflineError'
  readonly key: string

  constructor(why: string, key: string, options?: ErrorOptions) {
    super(
      'offline',
      `The write to key ${JSON.stringify(key)} was not sent: ${why}; write again if it is still meant`,
      options,
    )
    this.key = key
  }
}
