import { ClosedError, StateStoreError } from '../../core/util/errors.js'
import type { AckError } from '../wire/frames.js'

declare module '../../core/util/errors.js' {
  interface ErrorCodes {
    'pubsub-refused': true
  }
}

/**
 * The hub did not do what it was asked, and trying again as it is would not help: `hubError.name` says why, such as
 * `Forbidden`. Branch on the name, for the text may change. (Web PubSub, "Ack response".)
 *
 * @example
 * ```ts
 * line.send(21).subscribe({ error: e => { if (e instanceof PubSubRefusedError) report(e.hubError.name) } })
 * ```
 */
export class PubSubRefusedError extends StateStoreError {
  override readonly name = 'PubSubRefusedError'
  readonly hubError: AckError

  /** @param what - what was asked, such as `a send to group "line-1"` */
  constructor(what: string, hubError: AckError, options?: ErrorOptions) {
    super('pubsub-refused', `The hub refused ${what}: ${hubError.name}, ${hubError.message}`, options)
    this.hubError = hubError
  }
}

/** What ends with a client fails with it: closed by its user, or for good because of `cause`. */
export const closedBy = (cause: StateStoreError | undefined): ClosedError =>
  cause ? new ClosedError(`The connection was closed for good: ${cause.message}`, { cause }) : new ClosedError()
