import type { Change, History } from '../../../harness/judges/history.js'
import type { OptimisticState } from '../../../src/client/optimistic/index.js'
import { ODD_CODES } from './store-world.js'

export const KEY = 'setPoint'

export interface UserWrite {
  readonly value: string
  readonly by: string
  readonly at: number
  /** The time in milliseconds after which the write must not be executed. */
  readonly limit: number
  readonly offline: boolean
  readonly policy: 'drop' | 'latest' | 'ask' | 'cas' | undefined
  readonly conflict: 'last' | 'refuse' | 'merge'
  readonly isKept: boolean
  /** Whether other pages may also send the write, or a storage may fail to remove it. */
  isShared: boolean
  /**
   * The version on the page when the user wrote, without the user's own writes on top, or `absent` if there was no key.
   */
  readonly seen: string | undefined
  /** `pending`, the outcome, an error's code, or `part` for the result of a merge. */
  outcome: string
  version: string | undefined
  sentLate: boolean
  /** The result of a merge, and its input. */
  merged: { readonly value: string; readonly theirs: string | undefined } | undefined
  /** The user's answer about a late write, or `undefined` if the user was not asked. */
  answer: boolean | undefined
}

/** An oracle that checks every state that a page shows. */
export class PageOracle {
  readonly #history: History
  readonly #writes: ReadonlyMap<string, UserWrite>
  #last: OptimisticState<string> | undefined
  #lastPosition = -1

  constructor(history: History, writes: ReadonlyMap<string, UserWrite>) {
    this.#history = history
    this.#writes = writes
  }

  get shown(): OptimisticState<string> | undefined {
    return this.#last
  }

  /** Records that the page subscribes again, and receives the current state of the view. */
  begin(): void {
    this.#last = undefined
  }

  judge(state: OptimisticState<string>): string | undefined {
    const complaint = this.#judgeOrigin(state) ?? this.#judgeOrder(state) ?? this.#judgeOwnWrite(state)
    this.#last = state
    return complaint
  }

  /** Checks that only values of the store or the user are shown. */
  #judgeOrigin({ value, state, confirmed, version }: OptimisticState<string>): string | undefined {
    const { all } = this.#history
    const isOwn = value !== undefined && this.#writes.has(value)
    if (value !== undefined && !isOwn && !all.some(change => change.value === value))
      return `shows ${value}, which was never written`
    if (state === 'confirmed' && value !== confirmed) return `says ${value} is confirmed, which is ${confirmed}`
    if (version === undefined || confirmed === undefined) return undefined
    const positions = this.#history.positionsOf(KEY, String(version))
    return positions.some(position => all[position]?.value === confirmed)
      ? undefined
      : `says ${confirmed} has ${version}, which it has not`
  }

  /** Checks that confirmed values are never replaced by older ones. */
  #judgeOrder({ version }: OptimisticState<string>): string | undefined {
    if (version === undefined) return undefined
    const position = Math.max(...this.#history.positionsOf(KEY, String(version)))
    const before = this.#lastPosition
    this.#lastPosition = Math.max(position, before)
    return position < before ? `went back to ${version}` : undefined
  }

  /** Checks that after the user's own write nothing older is shown, unless the write was not executed. */
  #judgeOwnWrite({ value, version, confirmed, error, state }: OptimisticState<string>): string | undefined {
    const own = this.#last?.value
    if (own === undefined || value === own || !this.#writes.has(own)) return undefined
    const isPending = this.#last?.state === 'pending' || this.#last?.state === 'unknown'
    if (!isPending || value !== confirmed || state === 'pending') return undefined
    // A page trusts errors that rule out the execution of the write.
    if (this.#writes.get(own)?.isShared || ['quota-exceeded', 'syntax-error'].includes(error?.code ?? ''))
      return undefined
    const positions = this.#positionsOf(own)
    const position = positions.at(-1)
    if (position === undefined || this.#history.all[position]?.instance !== this.#history.instance) return undefined
    const shown =
      version === undefined
        ? this.#deletedAfter(position)
        : Math.max(...this.#history.positionsOf(KEY, String(version)))
    return shown >= position ? undefined : `showed ${own} and then older ${value} (${error?.code ?? 'no error'})`
  }

  #positionsOf(value: string): number[] {
    const merged = this.#writes.get(value)?.merged?.value
    return this.#history.all.flatMap((change, i) =>
      change.value === value || (merged && change.value === merged) ? [i] : [],
    )
  }

  /** Returns the position of the last deletion of the key if the deletion is later than the given position. */
  #deletedAfter(position: number): number {
    const { all } = this.#history
    const deletions = all.map(({ op, key }, i) => (op === 'delete' && key === KEY ? i : -1))
    const last = Math.max(-1, ...deletions)
    return last > position ? last : -1
  }
}

/**
 * How far a message may exceed its deadline, in milliseconds. The expiry is sent in whole seconds, and the network has
 * latency.
 */
const MAX_DELAY_MS = 2_500

/** Returns the outcomes of writes that contradict the store's history. */
export function judgeWrites(writes: Iterable<UserWrite>, history: History): string[] {
  return Array.from(writes).flatMap(write => {
    const complaint = write.outcome === 'part' ? undefined : judgeWrite(write, history)
    return complaint === undefined
      ? []
      : [`${write.by} ${write.value} (${write.conflict}, ${write.policy}): ${complaint}`]
  })
}

/** How often a write may have affected the store, by the result that the user received. */
const possibleCounts = (outcome: string): readonly number[] => {
  if (outcome === 'applied') return [1]
  // After an odd reply, the request may have been executed.
  return outcome === 'outcome-unknown' || ODD_CODES.includes(outcome) ? [0, 1] : [0]
}

function judgeWrite(write: UserWrite, history: History): string | undefined {
  const { outcome, version, merged, value } = write
  const wanted = outcome === 'applied' && merged ? merged.value : value
  const done = history.all.filter(change => change.value === wanted || change.value === value)
  const isKept = write.isKept && (outcome === 'closed' || (write.isShared && outcome !== 'applied'))
  const possible = isKept ? [0, 1] : possibleCounts(outcome)
  if (outcome === 'pending') return 'has no outcome'
  if (!possible.includes(done.length)) return `ended as ${outcome}, but was executed ${done.length} times`
  const [change] = done
  if (change === undefined) return undefined
  if (outcome === 'applied' && change.version !== version) return `was executed as ${change.version}, not as ${version}`
  return judgeTime(write, change) ?? judgeCondition(write, change, history)
}

function judgeTime(
  { offline, policy, at, limit, answer, sentLate, outcome, isShared }: UserWrite,
  change: Change,
): string | undefined {
  if (offline && policy === 'drop') return 'was executed although it was to be dropped without a connection'
  if (change.at > at + limit + MAX_DELAY_MS) return `was executed ${change.at - at} ms later`
  if (offline && outcome === 'applied' && !sentLate) return 'was sent late, but is not marked as late'
  if (offline && policy === 'ask' && !isShared && answer !== true) return 'was executed without approval'
  return undefined
}

function judgeCondition(write: UserWrite, change: Change, history: History): string | undefined {
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
