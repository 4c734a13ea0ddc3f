import type { Entry } from 'rx-statestore'
import { type ChangeTimes, NO_BEATS, withBeat } from '../model/beats.js'
import { goneWord } from '../model/gone.js'
import { type Kind, show } from '../model/value.js'

/** A change of a key, as it was seen. */
export interface Change {
  /** Counts them. */
  readonly n: number
  readonly op: Entry<unknown>['op']
  readonly source: Entry<unknown>['source']
  /** When the store made it, or when it was seen if it has no version; ms on the store's clock. */
  readonly at: number
  readonly version: string | undefined
  readonly line: string
  readonly kind: Kind | undefined
  readonly bytes: number
}

/** Numbers and when they came, for the chart; ms on the store's clock. */
export interface Series {
  readonly times: readonly number[]
  readonly values: readonly number[]
}

/** What was seen of a key. */
export interface Seen {
  readonly entry: Entry<Uint8Array> | undefined
  /** The newest first. */
  readonly changes: readonly Change[]
  /** How many there were; the oldest are forgotten. */
  readonly total: number
  readonly series: Series
  readonly beats: ChangeTimes
}

/** Nothing seen yet. */
export const UNSEEN: Seen = {
  entry: undefined,
  changes: [],
  total: 0,
  series: { times: [], values: [] },
  beats: NO_BEATS,
}

/** So many changes, and so many numbers, are remembered. */
export const MOST_CHANGES = 200
export const MOST_NUMBERS = 2_000

/** Remembers the changes of a key, and forgets the oldest. */
export class History {
  #changes: Change[] = []
  #times: number[] = []
  #values: number[] = []
  #changeTimes: ChangeTimes = NO_BEATS
  #total = 0
  #entry: Entry<Uint8Array> | undefined

  /** @param now - when it was seen, ms on the store's clock */
  add(entry: Entry<Uint8Array>, now: number): void {
    const { op, source, value, version } = entry
    const shown = value && show(value)
    const at = version?.wallClock ?? now
    this.#total += 1
    this.#entry = entry
    if (this.#total > 1) this.#changeTimes = withBeat(this.#changeTimes, op === 'set' ? 'set' : 'delete', now)
    const line = shown?.line ?? goneWord(entry)
    const bytes = value?.length ?? 0
    const change = { n: this.#total, op, source, at, version: version?.toString(), line, kind: shown?.kind, bytes }
    this.#changes = [change, ...this.#changes.slice(0, MOST_CHANGES - 1)]
    if (shown?.number !== undefined) this.#number(at, shown.number)
  }

  get seen(): Seen {
    const series = { times: Array.from(this.#times), values: Array.from(this.#values) }
    return { entry: this.#entry, changes: this.#changes, total: this.#total, series, beats: this.#changeTimes }
  }

  /** A chart wants rising times, and several values may come in one ms. */
  #number(at: number, value: number): void {
    const last = this.#times.at(-1)
    if (last !== undefined && at <= last) {
      this.#values[this.#values.length - 1] = value
      return
    }
    this.#times.push(at)
    this.#values.push(value)
    if (this.#times.length <= MOST_NUMBERS) return
    this.#times.shift()
    this.#values.shift()
  }
}
