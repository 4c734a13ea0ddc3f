import type { Row } from '../../state/row-book.js'

/** The columns of the grid, in their order; `name` is that of the style sheet. */
export const COLUMNS = [
  { name: 'key', title: 'Key', hint: undefined },
  { name: 'value', title: 'Value', hint: undefined },
  { name: 'beats', title: 'Last minute', hint: 'A marble for every second with a change' },
  { name: 'age', title: 'Age', hint: 'Since the value was written' },
  { name: 'ttl', title: 'Expires', hint: 'Time to live that is left' },
  { name: 'version', title: 'Version', hint: 'Time and counter of the write' },
  { name: 'token', title: 'Fencing token', hint: 'Version of the lock that protects the key' },
  { name: 'watchers', title: 'Watchers', hint: 'Clients that watch the key, without this page' },
] as const

/** Columns that may have nothing in them. */
export interface Filled {
  readonly ttl: boolean
  readonly token: boolean
}

/**
 * Columns in which some row has, or `before` had, something; the others leave their room to the values. All as long as
 * nothing is known, so that nothing jumps when it is.
 */
export function filledColumns(
  rows: ReadonlyMap<string, Pick<Row, 'facts'>>,
  before: Filled | undefined,
): Filled | undefined {
  let { ttl, token } = before ?? { ttl: false, token: false }
  let known = before !== undefined
  for (const { facts } of rows.values()) {
    known ||= facts !== undefined
    ttl ||= facts?.expiresAt !== undefined
    token ||= facts?.fencingToken !== undefined
  }
  return known ? { ttl, token } : undefined
}
