import { PayloadError, reason } from '../../core/util/errors.js'

/**
 * A message from the hub that cannot be read, though its number can. It has to be acknowledged all the same: the hub would
 * send the same bytes again after each recovery.
 *
 * @example
 * ```ts
 * if (error instanceof UnreadableMessageError) received(error.sequenceId)
 * ```
 */
export class UnreadableMessageError extends PayloadError {
  readonly sequenceId: bigint

  constructor(message: string, sequenceId: bigint, options?: ErrorOptions) {
    super(message, options)
    this.sequenceId = sequenceId
  }
}

/** What `read` makes of a message; its errors become {@link UnreadableMessageError} when the message has a number. */
export function readNumbered<T>(sequenceId: bigint | undefined, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (sequenceId === undefined) throw cause
    throw new UnreadableMessageError(`Message ${sequenceId} cannot be read: ${reason(cause)}`, sequenceId, { cause })
  }
}
