import { ArgumentError, StateStoreError } from '../core/util/errors.js'

export { rootCause } from '../core/util/errors.js'

/** Exit codes, which are part of the public interface. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  /** The condition of a write did not hold, or the key does not exist. */
  notMet: 3,
  /** The lock was lost while the command ran. */
  lost: 4,
  /** A damaged directory was recovered only in part. */
  incomplete: 5,
} as const

/** An exit code of {@link EXIT}, or the exit code of a command that ran under a lock. */
export type ExitCode = number

/** Ends a command with an exit code. An empty message prints nothing. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Failure) return error.exitCode
  return error instanceof ArgumentError ? EXIT.usage : EXIT.failed
}

const ERRORS_PAGE = 'https://github.com/rx-statestore/rx-statestore/blob/main/docs/errors.md'

/**
 * Returns the link to the description of an error, to append to its message. Empty for an error without a code, and for
 * wrong arguments, which the message explains completely.
 */
export function referenceOf(error: unknown): string {
  const described = error instanceof Failure ? error.cause : error
  const hasPage = described instanceof StateStoreError && !(described instanceof ArgumentError)
  return hasPage ? `; see ${ERRORS_PAGE}#${described.code}` : ''
}
