import type { ObservableInput } from 'rxjs'
import {
  checkFlag,
  checkFunction,
  checkHas,
  checkOptionNames,
  checkPositiveInteger,
  type OptionNames,
  type OtherNames,
} from '../../core/util/check.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { WriteStorage } from './write-storage.js'

/**
 * Makes one value of two: what the user wrote, what the key has by now (`undefined` for no such key), and what it had when
 * the user wrote. Called again when the key has changed once more.
 */
export type Merge<T> = (mine: T, theirs: T | undefined, base: T | undefined) => T

/** A write that waited for the connection, and may be sent late. */
export interface LateWrite<T> {
  readonly key: string
  readonly value: T
  /** Wall time at which it was written, ms since the Unix epoch. */
  readonly since: number
  /** So long ago, ms. */
  readonly age: number
  /** What the key has now; `undefined` for no such key. */
  readonly current: T | undefined
}

/** How a key is written; see `docs/writing.md` for which to choose. */
export interface OptimisticOptions<T> {
  /**
   * What becomes of a write when somebody else has changed the key since the user saw it. `last` (default): it replaces
   * that. `refuse`: it is refused with `conflict`. A function: its result is written instead, on top of what is there.
   * All but `last` need a store that compares versions, as that of this package does; others answer `syntax-error`.
   */
  readonly conflict?: 'last' | 'refuse' | Merge<T> | undefined
  /**
   * What becomes of a write while there is no connection. Without: it waits and fails with `timeout`, as any other write.
   * `drop`: it fails at once with `offline`. `latest`: the newest waits, and is sent when the connection is back. `ask`:
   * then `ask` decides. `cas`: then it is sent if the key still has the version the user saw.
   */
  readonly offline?: 'drop' | 'latest' | 'ask' | 'cas' | undefined
  /** ms after which a write that waits for the connection is not sent any more. Default 60,000. */
  readonly maxAge?: number | undefined
  /** With `offline: 'ask'`: whether a late write is still to be sent. Asked once the key has been read again. */
  readonly ask?: ((write: LateWrite<T>) => ObservableInput<boolean>) | undefined
  /** Keeps writes that wait for the connection for longer than this process or page lives. */
  readonly storage?: WriteStorage | undefined
  /** ms until a write has failed. Default: that of the client, 10 s. */
  readonly timeout?: number | undefined
  /** Time to live of what is written, ms. */
  readonly expiresIn?: number | undefined
  /** Ask the broker to keep the key on disk. */
  readonly persist?: boolean | undefined
}

const NAMES: OptionNames<OptimisticOptions<unknown>> = {
  conflict: true,
  offline: true,
  maxAge: true,
  ask: true,
  storage: true,
  timeout: true,
  expiresIn: true,
  persist: true,
}
const ELSEWHERE: OtherNames = { merge: 'conflict', ttl: 'expiresIn', policy: 'offline', maxAgeMs: 'maxAge' }

/** Checked {@link OptimisticOptions}. */
export interface Terms<T> {
  readonly conflict: 'last' | 'refuse' | Merge<T>
  readonly offline: OptimisticOptions<T>['offline']
  readonly maxAge: number
  readonly ask: (write: LateWrite<T>) => ObservableInput<boolean>
  readonly storage: WriteStorage | undefined
  readonly timeout: number
  readonly expiresIn: number | undefined
  readonly persist: boolean | undefined
}

const CONFLICTS: readonly unknown[] = [undefined, 'last', 'refuse']
const POLICIES: readonly unknown[] = [undefined, 'drop', 'latest', 'ask', 'cas']
const MAX_AGE = 60_000

/** Checks options before anything is sent. Throws {@link ArgumentError}. */
export function checkOptions<T>(options: OptimisticOptions<T>, timeout: number): Terms<T> {
  checkOptionNames('optimistic', options, NAMES, ELSEWHERE)
  const { conflict = 'last', offline, maxAge, ask, storage, expiresIn, persist } = options
  if (typeof conflict !== 'function' && !CONFLICTS.includes(conflict))
    throw new ArgumentError(
      `Expected \`conflict\` to be 'last', 'refuse' or a function, got \`${formatValue(conflict)}\``,
    )
  if (!POLICIES.includes(offline))
    throw new ArgumentError(
      `Expected \`offline\` to be 'drop', 'latest', 'ask' or 'cas', got \`${formatValue(offline)}\``,
    )
  for (const [name, value] of Object.entries({ maxAge, timeout: options.timeout, expiresIn }))
    if (value !== undefined) checkPositiveInteger(name, value)
  if (persist !== undefined) checkFlag('persist', persist)
  if (offline === 'ask') checkFunction('ask', ask)
  else if (ask !== undefined) throw new ArgumentError("`ask` is for `offline: 'ask'` alone, and would never be called")
  if (storage !== undefined) checkHas('storage', storage, ['load', 'save', 'remove'])
  if (!waits(offline) && (storage !== undefined || maxAge !== undefined))
    throw new ArgumentError(
      "`storage` and `maxAge` are for `offline: 'latest'`, 'ask' and 'cas', which let writes wait",
    )
  return {
    conflict,
    offline,
    maxAge: maxAge ?? MAX_AGE,
    ask: ask ?? never,
    storage,
    timeout: options.timeout ?? timeout,
    expiresIn,
    persist,
  }
}

const never = (): ObservableInput<boolean> => []

/** Whether writes outlive their deadline while there is no connection. */
export const waits = (offline: OptimisticOptions<unknown>['offline']): boolean =>
  offline !== undefined && offline !== 'drop'

/** How old a write may become, ms: one that is late as policy has it, any other as requests do. */
export const limitOf = (
  { offline, maxAge, timeout }: Omit<Terms<unknown>, 'conflict' | 'ask'>,
  { late }: { readonly late: boolean },
): number => (late && waits(offline) ? maxAge : timeout)
