import type { Hlc } from '../../core/hlc/hlc.js'
import { StateStoreError } from '../../core/util/errors.js'

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    conflict: true
    offline: true
  }
}

/** The key changed after the user saw it, and the write must not overwrite the change. The write had no effect. */
export class ConflictError extends StateStoreError {
  override readonly name = 'ConflictError'
  readonly key: string
  /** Version of the current value; `undefined` if the key is missing or its version unknown. */
  readonly version: Hlc | undefined

  constructor(why: string, key: string, version?: Hlc) {
    super('conflict', `The write to key ${JSON.stringify(key)} was refused: ${why}; check the value and write again`)
    this.key = key
    this.version = version
  }
}

export const offlineTimeout = (limit: number, key: string): OfflineError =>
  new OfflineError(`it waited over ${limit} ms for the connection`, key)

/** The write was dropped before it was sent, because the connection was lost. The write had no effect. */
export class OfflineError extends StateStoreError {
  override readonly name = 'OfflineError'
  readonly key: string

  constructor(why: string, key: string, options?: ErrorOptions) {
    super('offline', `The write to key ${JSON.stringify(key)} was not sent: ${why}; write again if needed`, options)
    this.key = key
  }
}
