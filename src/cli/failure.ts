import { ArgumentError } from '../core/util/errors.js'

export { rootCause } from '../core/util/errors.js'

/** Exit codes: a part of the interface, as scripts branch on them. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  /** The condition of a write did not hold, or there is no such key. */
  notMet: 3,
  /** A lock was lost while a command ran under it. */
  lost: 4,
  /** A damaged directory was recovered, but for something that had to be left out. */
  incomplete: 5,
} as const

/** One of {@link EXIT}, or what a command that was run under a lock ended with. */
export type ExitCode = number

/** Ends a command with an exit code; an empty message says nothing. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** The exit code of whatever a command threw. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Failure) return error.exitCode
  return error instanceof ArgumentError ? EXIT.usage : EXIT.failed
}
