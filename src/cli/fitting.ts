/** Between two columns. */
export const GAP = '  '
/** What a value shall have before other columns have theirs. */
const ENOUGH = 24
/** What it has in the narrowest terminal. */
const LEAST = 12

/** Which columns a line has, and how much of a value. */
export interface Fitting<C extends string> {
  readonly shown: ReadonlySet<C>
  /** Characters of a value. */
  readonly room: number
}

/**
 * Fits the columns of a line, of which key and value are always there, into a terminal.
 *
 * @param columns - width of the terminal; without one all is shown, and no value is shortened
 * @param keyWidth - width of the widest key
 * @param beside - the other columns and their widths, the most important first; one without a width is not there
 */
export function fitting<C extends string>(
  columns: number | undefined,
  keyWidth: number,
  beside: Readonly<Record<C, number | undefined>>,
): Fitting<C> {
  const shown = new Set<C>()
  let room = columns === undefined ? Number.POSITIVE_INFINITY : columns - keyWidth - GAP.length
  for (const column in beside) {
    const width = beside[column]
    if (width === undefined) continue
    const left = room - width - GAP.length
    if (left < ENOUGH) break
    shown.add(column)
    room = left
  }
  return { shown, room: Math.max(room, LEAST) }
}
