import { forKey, StateStoreError } from '../../core/util/errors.js'

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    'no-store': true
  }
}

/**
 * The broker is there, but no state store listens to it, so the request changed nothing. A watch goes on, and finds the
 * store when it comes; brokers that do not say so (MQTT 5.0, section 3.4.2.1, 16) leave requests to their timeout.
 */
export class NoStoreError extends StateStoreError {
  override readonly name = 'NoStoreError'
  readonly key: string | undefined

  constructor(key?: string) {
    super(
      'no-store',
      `No state store listens at this broker${forKey(key)}: start one, or connect to a broker that has one`,
    )
    this.key = key
  }
}
