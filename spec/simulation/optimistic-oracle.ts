import type { OptimisticState } from '../../src/client/optimistic/index.js'
import type { History } from './history.js'

export const KEY = 'setPoint'

/** A write of a user, from its call on. */
export interface UserWrite {
  readonly value: string
  readonly by: string
  readonly at: number
  /** ms after which it must not be executed. */
  readonly limit: number
  /** It was written without a connection. */
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
  #lastPlace = -1

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

  /** Returns what is wrong with a state. */
  judge(state: OptimisticState<string>): string | undefined {
    const complaint = this.#origin(state) ?? this.#order(state) ?? this.#flicker(state)
    this.#last = state
    return complaint
  }

  /** Only values of the store or the user are shown. */
  #origin({ value, state, confirmed, version }: OptimisticState<string>): string | undefined {
    const { all } = this.#history
    const isOwn = value !== undefined && this.#writes.has(value)
    if (value !== undefined && !isOwn && !all.some(change => change.value === value))
      return `shows ${value}, which was never written`
    if (state === 'confirmed' && value !== confirmed) return `says ${value} is confirmed, which is ${confirmed}`
    if (version === undefined || confirmed === undefined) return undefined
    const places = this.#history.placesOf(KEY, String(version))
    return places.some(place => all[place]?.value === confirmed)
      ? undefined
      : `says ${confirmed} has ${version}, which it has not`
  }

  /** Confirmed values never get older. */
  #order({ version }: OptimisticState<string>): string | undefined {
    if (version === undefined) return undefined
    const place = Math.max(...this.#history.placesOf(KEY, String(version)))
    const before = this.#lastPlace
    this.#lastPlace = Math.max(place, before)
    return place < before ? `went back to ${version}` : undefined
  }

  /** After an own write nothing older is shown, unless it was not executed. */
  #flicker({ value, version, confirmed, error, state }: OptimisticState<string>): string | undefined {
    const own = this.#last?.value
    if (own === undefined || value === own || !this.#writes.has(own)) return undefined
    const isPending = this.#last?.state === 'pending' || this.#last?.state === 'unknown'
    if (!isPending || value !== confirmed || state === 'pending') return undefined
    // A page that was told that it was not executed cannot know better.
    if (this.#writes.get(own)?.isShared || ['quota-exceeded', 'syntax-error'].includes(error?.code ?? ''))
      return undefined
    const places = this.#placesOf(own)
    const place = places.at(-1)
    if (place === undefined || this.#history.all[place]?.life !== this.#history.life) return undefined
    const shown =
      version === undefined ? this.#goneAfter(place) : Math.max(...this.#history.placesOf(KEY, String(version)))
    return shown >= place ? undefined : `showed ${own} and then older ${value} (${error?.code ?? 'no error'})`
  }

  #placesOf(value: string): number[] {
    const merged = this.#writes.get(value)?.merged?.value
    return this.#history.all.flatMap((change, i) =>
      change.value === value || (merged && change.value === merged) ? [i] : [],
    )
  }

  /** Position of the last deletion of the key, if that was later. */
  #goneAfter(place: number): number {
    const { all } = this.#history
    const gone = all.map(({ op, key }, i) => (op === 'delete' && key === KEY ? i : -1))
    const last = Math.max(-1, ...gone)
    return last > place ? last : -1
  }
}
