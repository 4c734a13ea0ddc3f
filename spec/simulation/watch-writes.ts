import { isPossible, type Knowledge } from '../judges/outcomes.js'
import type { History } from './history.js'
import type { Write } from './watch-client.js'

export const ODD_CODES = new Set(['payload', 'hlc', 'service-unknown', 'quota-exceeded', 'syntax-error'])

export function judgeWrites(writes: readonly Write[], { all }: History): string[] {
  const violations: string[] = []
  for (const { value, outcome, version } of writes) {
    const applied = all.filter(change => change.value === value)
    const isCorrect =
      isPossible(expectedEffect(outcome), applied.length) && (outcome !== 'applied' || applied[0]?.version === version)
    if (outcome === 'pending') violations.push(`write ${value} has not ended`)
    if (!isCorrect) violations.push(`write ${value} ended as ${outcome}, but was applied ${applied.length} times`)
  }
  return violations
}

function expectedEffect(outcome: string): Knowledge {
  if (outcome === 'applied') return 'done'
  return outcome === 'outcome-unknown' || ODD_CODES.has(outcome) ? 'open' : 'not done'
}
