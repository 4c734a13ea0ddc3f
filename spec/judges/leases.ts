import { Hlc } from '../../src/core/hlc/hlc.js'

/** A time in which a client held a lease, as far as it knew. */
export interface Holding {
  lock: string
  who: string
  token: string
  /** monotonic ms */
  from: number
  until: number
}

/**
 * What is wrong with the holdings of locks: two at a time, or a token that is not newer than that of the one before.
 */
export function overlaps(holdings: readonly Holding[]): string[] {
  const inOrder = [...holdings].sort((a, b) => a.from - b.from)
  const last: Map<string, Holding> = new Map()
  return inOrder.flatMap(holding => {
    const before = last.get(holding.lock)
    last.set(holding.lock, holding)
    if (before === undefined) return []
    const both = `${JSON.stringify(before)} and ${JSON.stringify(holding)}`
    if (holding.from < before.until) return [`two hold it at a time: ${both}`]
    const isNewer = Hlc.parse(holding.token).compareTo(Hlc.parse(before.token)) > 0
    return isNewer ? [] : [`a token that is not newer than the one before: ${both}`]
  })
}
