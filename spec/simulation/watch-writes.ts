import type { History } from './history.js'
import type { Write } from './watch-client.js'

/** What answers that make no sense are called. */
export const ODD = new Set(['payload', 'hlc', 'service-unknown', 'quota-exceeded', 'syntax-error'])

/** What is wrong with what writers were told. */
export function judgeWrites(writes: readonly Write[], { all }: History): string[] {
  const violations: string[] = []
  for (const { value, outcome, version } of writes) {
    const applied = all.filter(change => change.value === value)
    const most = outcome === 'applied' || outcome === 'outcome-unknown' || ODD.has(outcome) ? 1 : 0
    const least = outcome === 'applied' ? 1 : 0
    const right = applied.length >= least && applied.length <= most && (least === 0 || applied[0]?.version === version)
    if (outcome === 'pending') violations.push(`write ${value} has not ended`)
    if (!right) violations.push(`write ${value} ended as ${outcome}, but was applied ${applied.length} times`)
  }
  return violations
}
