import { reason } from './errors.js'

/** What is at the bottom of an error. Node reports several failed addresses of one host as an error without a message. */
export function rootCause(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return Array.from(new Set(error.errors.map(rootCause))).join(', ')
  }
  return error instanceof Error && error.cause !== undefined ? rootCause(error.cause) : reason(error)
}
