/** Two aligned columns. */
export function table(rows: readonly (readonly [string, string | number])[]) {
  const cells = rows.map(([label, value]) => [label, typeof value === 'number' ? value.toLocaleString('en') : value])
  const widths = [0, 1].map(column => Math.max(...cells.map(row => row[column]?.length ?? 0)))
  return cells
    .map(([label = '', value = '']) => `${label.padEnd(widths[0] ?? 0)}  ${value.padStart(widths[1] ?? 0)}`)
    .join('\n')
}
