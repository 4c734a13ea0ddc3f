import type { OptimisticState } from '../../src/client/optimistic/index.js'
import type { History } from './history.js'

export const KEY = 'setPoint'

export interface UserWrite {
  readonly value: string
  readonly by: string
  readonly at: number
  /** ms after which it must not be executed. */
  readonly limit: number
  readonly offline: boolean
  readonly policy: 'drop' | 'latest' | 'ask' | 'cas' | undefined
  readonly conflict: 'last' | 'refuse' | 'merge'
  readonly isKept: boolean
  /** Other pages may send it too, or a storage that fails to remove it. */
  isShared: boolean
  /** Version on the page when it was written, without own writes on top; `absent` if there was no key. */
  readonly seen: string | undefined
  outcome: string
  version: string | undefined
  sentLate: boolean
  /** The result of a merge, and its input. */
  merged: { readonly value: string; readonly theirs: string | undefined } | undefined
  /** The user's answer about a late write; `undefined` if not asked. */
  answer: boolean | undefined
}

/** Checks every state that a page shows. */
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

  /** The page subscribes again, with the current state of the view. */
  begin(): void {
    this.#last = undefined
  }

  judge(state: OptimisticState<string>): string | undefined {
    const complaint = this.#judgeOrigin(state) ?? this.#judgeOrder(state) ?? this.#judgeOwnWrite(state)
    this.#last = state
    return complaint
  }

  /** Only values of the store or the user are shown. */
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

  /** Confirmed values never get older. */
  #judgeOrder({ version }: OptimisticState<string>): string | undefined {
    if (version === undefined) return undefined
    const position = Math.max(...this.#history.positionsOf(KEY, String(version)))
    const before = this.#lastPosition
    this.#lastPosition = Math.max(position, before)
    return position < before ? `went back to ${version}` : undefined
  }

  /** After an own write nothing older is shown, unless it was not executed. */
  #judgeOwnWrite({ value, version, confirmed, error, state }: OptimisticState<string>): string | undefined {
    const own = this.#last?.value
    if (own === undefined || value === own || !this.#writes.has(own)) return undefined
    const isPending = this.#last?.state === 'pending' || this.#last?.state === 'unknown'
    if (!isPending || value !== confirmed || state === 'pending') return undefined
    // A page trusts an error that says the write was not executed.
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

  /** Position of the last deletion of the key, if that was later. */
  #deletedAfter(position: number): number {
    const { all } = this.#history
    const deletions = all.map(({ op, key }, i) => (op === 'delete' && key === KEY ? i : -1))
    const last = Math.max(-1, ...deletions)
    return last > position ? last : -1
  }
}
