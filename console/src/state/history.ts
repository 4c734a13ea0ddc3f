import type { Entry } from 'rx-statestore'
import type { ChangeTimes } from '../model/change-times.js'
import { missingReason } from '../model/missing-reason.js'
import { type Kind, previewValue } from '../model/value.js'

export interface HistoryChange {
  readonly n: number
  readonly op: Entry<unknown>['op']
  readonly source: Entry<unknown>['source']
  /** Time of the write, or time of arrival if there is no version; ms on the store's clock. */
  readonly at: number
  /** Time of arrival, ms on the store's clock. */
  readonly arrivedAt: number
  readonly version: string | undefined
  readonly line: string
  readonly kind: Kind | undefined
  readonly bytes: number
}

/** Numeric values for the chart, and their times in ms on the store's clock. */
export interface Series {
  readonly times: readonly number[]
  readonly values: readonly number[]
}

export interface KeyHistory {
  readonly entry: Entry<Uint8Array> | undefined
  /** The changes, newest first. */
  readonly changes: readonly HistoryChange[]
  /** Number of changes, including the dropped ones. */
  readonly total: number
  readonly series: Series
}

export const EMPTY_HISTORY: KeyHistory = {
  entry: undefined,
  changes: [],
  total: 0,
  series: { times: [], values: [] },
}

export const MAX_CHANGES = 200
export const MAX_NUMBERS = 2_000

/** Records a key's changes, and drops the oldest ones. */
export class HistoryRecorder {
  #changes: HistoryChange[] = []
  #times: number[] = []
  #values: number[] = []
  #total = 0
  #entry: Entry<Uint8Array> | undefined

  /**
   * @param now - time of arrival, ms on the store's clock
   * @param expiresAt - expiry of the previous value
   */
  add(entry: Entry<Uint8Array>, now: number, expiresAt?: number): void {
    const { op, source, value, version } = entry
    const preview = value && previewValue(value)
    const at = version?.wallClock ?? now
    this.#total += 1
    this.#entry = entry
    const line = preview?.line ?? missingReason(entry, expiresAt)
    const bytes = value?.length ?? 0
    const change = {
      n: this.#total,
      op,
      source,
      at,
      arrivedAt: now,
      version: version?.toString(),
      line,
      kind: preview?.kind,
      bytes,
    }
    this.#changes = [change, ...this.#changes.slice(0, MAX_CHANGES - 1)]
    if (preview?.number !== undefined) this.#addNumber(at, preview.number)
  }

  get current(): KeyHistory {
    const series = { times: Array.from(this.#times), values: Array.from(this.#values) }
    return { entry: this.#entry, changes: this.#changes, total: this.#total, series }
  }

  /** Adds a number to the chart, which requires ascending times, although several values may arrive in one ms. */
  #addNumber(at: number, value: number): void {
    const last = this.#times.at(-1)
    if (last !== undefined && at <= last) {
      this.#values[this.#values.length - 1] = value
      return
    }
    this.#times.push(at)
    this.#values.push(value)
    if (this.#times.length <= MAX_NUMBERS) return
    this.#times.shift()
    this.#values.shift()
  }
}

/** Returns the times of all kept changes, without the value at the start. */
export function changeTimesOf({ changes, total }: KeyHistory): ChangeTimes {
  const changed = total > changes.length ? changes : changes.slice(0, -1)
  const times = (isSet: boolean): readonly number[] =>
    changed.filter(({ op }) => (op === 'set') === isSet).map(({ arrivedAt }) => arrivedAt)
  return { sets: times(true), deletes: times(false) }
}
