import { knowledgeOf, possibleTimes } from './outcomes.js'
import { type Request, requestName, type StoreHistory } from './store-history.js'
import type { Violations } from './violations.js'

/** A write of a client that has ended. */
export interface EndedWrite extends Request {
  readonly verb: 'SET' | 'DEL' | 'VDEL'
  /** `applied`, `refused` by a condition, `cancelled`, or the code of the error. */
  readonly outcome: string
  readonly version: string | undefined
  readonly expires: boolean
  /** The time at which the write ended, in monotonic ms. */
  readonly at: number
}

/** All writes with the same client, verb, key and value. */
interface SameWrites {
  readonly first: EndedWrite
  minTimes: number
  maxTimes: number
  applied: number
  readonly outcomes: string[]
}

/**
 * Checks every write: an acknowledged write reached a store exactly once, a write with an unknown outcome at most once,
 * and a definitely failed write never. An applied write has the version that the store gave it, which no other has.
 */
export async function checkWrites(
  writes: AsyncIterable<EndedWrite>,
  history: StoreHistory,
  violations: Violations,
): Promise<void> {
  const all = new Map<string, SameWrites>()
  const versions = new Set<string>()
  for await (const write of writes) {
    const name = requestName(write)
    const same = all.get(name) ?? { first: write, minTimes: 0, maxTimes: 0, applied: 0, outcomes: [] }
    all.set(name, same)
    // A store also answers a write that it refuses.
    const knowledge = write.outcome === 'refused' ? 'done' : knowledgeOf(write.outcome)
    const [minTimes, maxTimes] = possibleTimes(knowledge ?? 'open')
    same.minTimes += minTimes
    same.maxTimes += maxTimes
    if (write.outcome === 'applied') same.applied++
    same.outcomes.push(write.outcome)
    if (write.verb !== 'SET' || write.version === undefined || write.outcome !== 'applied') continue
    if (versions.has(write.version)) violations.add('version', `${name} was written twice with ${write.version}`)
    versions.add(write.version)
    const found = history.changes.positionsOf(write.key, write.version).map(at => history.changes.all[at]?.value)
    if (!found.includes(write.value)) violations.add('version', `${name} does not have version ${write.version}`)
  }
  const reached = (name: string) => history.requests.get(name) ?? { reached: 0, applied: 0, repeated: 0 }
  for (const [name, { first, minTimes, maxTimes, applied, outcomes }] of all) {
    const times = reached(name)
    const what = `${name} ended as ${outcomes.slice(0, 20).join(', ')}, and reached a store ${times.reached} times`
    if (times.reached + times.repeated < minTimes || times.reached > maxTimes) violations.add('write', what)
    if (first.verb === 'SET' && times.applied + times.repeated < applied)
      violations.add('write', `${what}, applied ${times.applied} times`)
  }
  for (const name of history.requests.keys())
    if (!all.has(name)) violations.add('write', `${name} reached a store but was never sent`)
  checkLosses(all, history, violations)
}

/**
 * Checks that a key was found missing without an acknowledged deletion at most as often as there were deletions or
 * expiring writes with an unknown outcome.
 */
function checkLosses(all: ReadonlyMap<string, SameWrites>, history: StoreHistory, violations: Violations): void {
  const open = new Map<string, number>()
  for (const [name, { first, maxTimes }] of all) {
    if (first.verb === 'SET' && !first.expires) continue
    const unreached = maxTimes - (history.requests.get(name)?.reached ?? 0)
    open.set(first.key, (open.get(first.key) ?? 0) + unreached)
  }
  for (const [key, times] of history.losses)
    if (times > (open.get(key) ?? 0))
      violations.add('lost', `${key} was found missing although no request can have deleted it`)
}
