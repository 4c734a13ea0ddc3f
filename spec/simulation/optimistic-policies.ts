import type { History, RecordedChange } from './history.js'
import { KEY, type UserWrite } from './optimistic-oracle.js'

/**
 * How far a message may exceed its deadline, in milliseconds. The expiry is sent in whole seconds, and the network has
 * latency.
 */
const MAX_DELAY_MS = 2_500

/** Returns the outcomes of writes that contradict the history of the store. */
export function judgeWrites(writes: Iterable<UserWrite>, history: History): string[] {
  return Array.from(writes).flatMap(write => {
    const complaint = judgeWrite(write, history)
    return complaint === undefined
      ? []
      : [`${write.by} ${write.value} (${write.conflict}, ${write.policy}): ${complaint}`]
  })
}

/** How often a write may have affected the store, by the result that the user received. */
const POSSIBLE_COUNTS: Record<string, readonly number[]> = {
  applied: [1],
  'outcome-unknown': [0, 1],
  payload: [0, 1],
  hlc: [0, 1],
  'service-unknown': [0, 1],
  // An earlier reply was odd, but the request was executed.
  'quota-exceeded': [0, 1],
  'syntax-error': [0, 1],
}

function judgeWrite(write: UserWrite, history: History): string | undefined {
  const { outcome, version, merged, value } = write
  const wanted = outcome === 'applied' && merged ? merged.value : value
  const done = history.all.filter(change => change.value === wanted || change.value === value)
  const isKept = write.isKept && (outcome === 'closed' || (write.isShared && outcome !== 'applied'))
  const possible = isKept ? [0, 1] : (POSSIBLE_COUNTS[outcome] ?? [0])
  if (outcome === 'pending') return 'has no outcome'
  if (!possible.includes(done.length)) return `ended as ${outcome}, but was executed ${done.length} times`
  const [change] = done
  if (change === undefined) return undefined
  if (outcome === 'applied' && change.version !== version) return `was executed as ${change.version}, not as ${version}`
  return judgeTime(write, change) ?? judgeCondition(write, change, history)
}

function judgeTime(
  { offline, policy, at, limit, answer, sentLate, outcome, isShared }: UserWrite,
  change: RecordedChange,
): string | undefined {
  if (offline && policy === 'drop') return 'was executed although it was to be dropped without a connection'
  if (change.at > at + limit + MAX_DELAY_MS) return `was executed ${change.at - at} ms later`
  if (offline && outcome === 'applied' && !sentLate) return 'was sent late, but is not marked as late'
  if (offline && policy === 'ask' && !isShared && answer !== true) return 'was executed without approval'
  return undefined
}

function judgeCondition(write: UserWrite, change: RecordedChange, history: History): string | undefined {
  const position = history.all.indexOf(change)
  const before = history.all
    .slice(0, position)
    .reverse()
    .find(({ key, instance }) => key === KEY && instance === change.instance)
  const previous = before?.op === 'set' ? before : undefined
  if (write.merged && change.value === write.merged.value) {
    const { theirs } = write.merged
    return theirs === previous?.value ? undefined : `was merged with ${theirs}, but replaced ${previous?.value}`
  }
  const isConditional = write.conflict !== 'last' || (write.offline && write.policy === 'cas')
  // Another page that shares the storage sent the write under its own policy.
  if (!isConditional || write.isShared || write.seen === undefined) return undefined
  const found = previous?.version ?? 'absent'
  return found === write.seen ? undefined : `replaced ${found}, but its user saw ${write.seen}`
}
