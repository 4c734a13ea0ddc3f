import type { Row } from '../../state/row-cache.js'

/** The columns of the grid. Class names contain `name`. */
export const COLUMNS = [
  { name: 'key', title: 'Key', hint: undefined },
  { name: 'value', title: 'Value', hint: undefined },
  { name: 'beats', title: 'Last minute', hint: 'Changes as marbles' },
  { name: 'age', title: 'Age', hint: 'Time since the last write' },
  { name: 'ttl', title: 'Expires', hint: 'Remaining time to live' },
  { name: 'version', title: 'Version', hint: 'Time and counter of the write' },
  { name: 'token', title: 'Fencing token', hint: 'Version of the lock that protects the key' },
  { name: 'watchers', title: 'Watchers', hint: 'Clients watching the key, without this page' },
] as const

export interface FilledColumns {
  readonly ttl: boolean
  readonly token: boolean
}

/**
 * Returns the columns that contain a value or contained one before; the other columns are hidden. Returns `undefined`
 * until facts have arrived, so that the layout does not shift.
 */
export function filledColumns(
  rows: ReadonlyMap<string, Pick<Row, 'facts'>>,
  before: FilledColumns | undefined,
): FilledColumns | undefined {
  let { ttl, token } = before ?? { ttl: false, token: false }
  let known = before !== undefined
  for (const { facts } of rows.values()) {
    known ||= facts !== undefined
    ttl ||= facts?.expiresAt !== undefined
    token ||= facts?.fencingToken !== undefined
  }
  return known ? { ttl, token } : undefined
}
