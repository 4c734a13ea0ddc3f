import { Hlc } from '../../src/core/hlc/hlc.js'

/** A period in which a client believed that it held a lease. */
export interface LeaseHolding {
  lock: string
  holder: string
  token: string
  /** monotonic ms */
  from: number
  until: number
}

/**
 * Returns the violations among the holders of leases: concurrent holders, or a token that is not newer than the
 * previous one.
 */
export function findLeaseViolations(holdings: readonly LeaseHolding[]): string[] {
  const inOrder = [...holdings].sort((a, b) => a.from - b.from)
  const last: Map<string, LeaseHolding> = new Map()
  return inOrder.flatMap(holding => {
    const before = last.get(holding.lock)
    last.set(holding.lock, holding)
    if (before === undefined) return []
    const both = `${JSON.stringify(before)} and ${JSON.stringify(holding)}`
    if (holding.from < before.until) return [`two clients hold it at the same time: ${both}`]
    const isNewer = Hlc.parse(holding.token).compareTo(Hlc.parse(before.token)) > 0
    return isNewer ? [] : [`a token that is not newer than the one before: ${both}`]
  })
}
