import type { OptimisticState } from '../../src/client/optimistic/index.js'
import type { History } from './history.js'

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
