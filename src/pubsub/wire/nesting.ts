import { isNestedWithin } from './json-scan.js'

/**
 * How deep arrays and objects of a JSON text may be nested. `JSON.parse` takes any depth and `JSON.stringify` does not:
 * without a limit, one publisher could send what cannot be written to the subscribers.
 */
export const MAXIMUM_NESTING = 512

/** What is wrong with JSON text before it is parsed. */
export const nestingProblem = (text: string): string | undefined =>
  isNestedWithin(MAXIMUM_NESTING, text) ? undefined : `nested deeper than ${MAXIMUM_NESTING} levels`
