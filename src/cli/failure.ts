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

/**
 * The states of monitoring plugins (Nagios, Icinga and others) and their exit codes, which `probe` has instead of
 * {@link EXIT}.
 */
const MONITORING_EXIT = { ok: 0, warning: 1, critical: 2, unknown: 3 } as const

export type CheckState = Exclude<keyof typeof MONITORING_EXIT, 'unknown'>

/** An exit code of {@link EXIT} or {@link MONITORING_EXIT}, or of a command that ran under a lock. */
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

/** Ends `probe` with the state of its check, which its output reports. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure'
  readonly state: CheckState

  constructor(state: CheckState) {
    super('')
    this.state = state
  }
}

/** Returns the exit code of a monitoring plugin for an error, which has the code `code` of {@link EXIT} elsewhere. */
export function monitoringExitOf(error: unknown, code: ExitCode): ExitCode {
  if (error instanceof CheckFailure) return MONITORING_EXIT[error.state]
  return code === EXIT.usage ? MONITORING_EXIT.unknown : MONITORING_EXIT.critical
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Failure) return error.exitCode
  return error instanceof ArgumentError ? EXIT.usage : EXIT.failed
}

const ERRORS_PAGE = 'https://github.com/rx-statestore/rx-statestore/blob/main/docs/errors.md'

/**
 * Returns the link to an error's description, to append to its message. Empty for an error without a code, and for
 * wrong arguments, which the message explains completely.
 */
export function referenceOf(error: unknown): string {
  const described = error instanceof Failure ? error.cause : error
  const hasPage = described instanceof StateStoreError && !(described instanceof ArgumentError)
  return hasPage ? `; see ${ERRORS_PAGE}#${described.code}` : ''
}
