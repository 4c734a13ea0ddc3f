import type { Recorder } from '../../chaos/recorder.js'
import type { Violations } from '../../chaos/violations.js'
import type { Outcome } from '../../chaos/writers.js'
import { type Knowledge, possibleTimes } from './outcomes.js'
import type { StoreHistory } from './store-history.js'

export type Tally = { certain: number; possible: number; applied: number; removesKey: boolean; outcomes: Outcome[] }

const KNOWN = {
  applied: 'done',
  refused: 'done',
  timeout: 'not done',
  absent: 'not done',
  closed: 'not done',
  unknown: 'open',
  cancelled: 'open',
} as const satisfies Record<Outcome, Knowledge>

/**
 * Checks every write: an acknowledged write reached a store exactly once, a write with an unknown outcome at most once,
 * and a definitely failed write never. Returns the versions of each value as returned to its writer.
 */
export async function checkWrites(recorder: Recorder, history: StoreHistory, violations: Violations) {
  const tallies: Map<string, Tally> = new Map()
  const versions: Map<string, Set<string>> = new Map()
  for await (const record of recorder.read()) {
    if (record[0] !== 'write') continue
    const [, client, verb, key, value, outcome, version, expires] = record
    const request = `${client} ${verb} ${key} ${value}`
    const removesKey = verb !== 'SET' || expires
    const tally: Tally = tallies.get(request) ?? { certain: 0, possible: 0, applied: 0, removesKey, outcomes: [] }
    const [minTimes, maxTimes] = possibleTimes(KNOWN[outcome])
    tally.certain += minTimes
    tally.possible += maxTimes
    if (outcome === 'applied') tally.applied++
    tally.outcomes.push(outcome)
    tallies.set(request, tally)
    if (verb !== 'SET' || outcome !== 'applied' || !version) continue
    const known = versions.get(value) ?? new Set()
    if (known.has(version)) violations.add('version', `${request} was written twice with version ${version}`)
    versions.set(value, known.add(version))
  }
  for (const [request, { certain, possible, applied, outcomes }] of tallies) {
    const done = history.requestsOf(request)
    const isRight = done.reached + done.repeated >= certain && done.reached <= possible
    const describe = () =>
      `${request} ended as ${outcomes.slice(0, 20).join(', ')}, and reached a store ${done.reached} times`
    if (!isRight) violations.add('write', describe())
    const isSet = request.split(' ')[1] === 'SET'
    if (isSet && done.applied + done.repeated < applied)
      violations.add('write', `${describe()}, applied ${done.applied} times`)
  }
  checkLosses(tallies, history, violations)
  for (const request of history.requests)
    if (!tallies.has(request)) violations.add('write', `${request} reached a store but was never sent`)
  return versions
}

/**
 * Checks that a key was found missing without an acknowledged deletion at most as often as there were deletions or
 * expiring writes with an unknown outcome.
 */
function checkLosses(tallies: Map<string, Tally>, history: StoreHistory, violations: Violations) {
  const open: Map<string, number> = new Map()
  for (const [request, { possible, removesKey }] of tallies) {
    if (!removesKey) continue
    const [, , key = ''] = request.split(' ')
    open.set(key, (open.get(key) ?? 0) + possible - history.requestsOf(request).reached)
  }
  for (const [key, times] of history.losses) {
    if (times > (open.get(key) ?? 0))
      violations.add('lost', `${key} was found missing although no request can have deleted it`)
  }
}
