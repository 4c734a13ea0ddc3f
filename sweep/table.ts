import type { Result } from './measure.js'

const share = (value: number): string => (Number.isFinite(value) ? value.toFixed(2) : '-').padStart(7)

/** Formats results as an aligned table, with the shares of each bound. */
export function formatTable(results: readonly Result[]): string {
  const width = Math.max(...results.map(({ row }) => row.name.length))
  const head = `${'row'.padEnd(width)}${['step', 'CPU', 'held'].map(name => name.padStart(7)).join('')}`
  const lines = results.map(
    ({ row, shares, failure }) =>
      `${row.name.padEnd(width)}${share(shares.step)}${share(shares.cpu)}${share(shares.held)}${failure && `  ${failure}`}`,
  )
  return [head, ...lines].join('\n')
}
