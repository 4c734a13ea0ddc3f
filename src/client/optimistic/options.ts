import type { ObservableInput } from 'rxjs'
import {
  checkArgument,
  checkFlag,
  checkFunction,
  checkHas,
  checkOptionNames,
  checkPositiveInteger,
  type ForeignOptionNames,
  type OptionNames,
} from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import type { WriteStorage } from './write-storage.js'

/**
 * Merges the user's value (`mine`) with the current one (`theirs`, `undefined` for a missing key) and the one that the
 * user changed (`base`). Called again if the key changes before the result is written.
 */
export type Merge<T> = (mine: T, theirs: T | undefined, base: T | undefined) => T

/** A write that waited for the connection. */
export interface LateWrite<T> {
  readonly key: string
  readonly value: T
  /** Wall time of the write, ms since the Unix epoch. */
  readonly since: number
  /** Time since the write, ms. */
  readonly age: number
  /** Current value of the key; `undefined` if it does not exist. */
  readonly current: T | undefined
}

/** How a key is written. `docs/writing.md` explains the choice. */
export interface OptimisticOptions<T> {
  /**
   * What happens if another client changed the key since the user saw it. `last` (default): the write overwrites the
   * change. `refuse`: the write fails with `conflict`. A function: its result, based on the current value, is written.
   * `refuse` and functions require a store with compare-and-set by version, such as the store of this package; other
   * stores respond with `syntax-error`.
   */
  readonly conflict?: 'last' | 'refuse' | Merge<T> | undefined
  /**
   * What happens to writes without a connection. Default: they wait and fail with `timeout`, like other writes. `drop`:
   * they fail immediately with `offline`. With all other values, the newest write waits for the reconnect. `latest`: it
   * is sent. `ask`: the `ask` option decides whether it is sent. `cas`: it is sent if the key still has the version
   * that the user saw.
   */
  readonly offline?: 'drop' | 'latest' | 'ask' | 'cas' | undefined
  /**
   * Which write wins with `offline: 'latest'` and without `conflict`, if another client wrote the key while this write
   * waited. `newer` (default): the later write, so this one is `superseded`. `never`: this one, although it is older.
   * The time of the waiting write is compared with the version of the key, whose time is that of the store.
   */
  readonly supersede?: 'newer' | 'never' | undefined
  /** Maximum wait for the connection, ms. Older writes are not sent. Default 60,000. */
  readonly maxAge?: number | undefined
  /** Decides whether to send a late write, with `offline: 'ask'`. Called after the key has been read again. */
  readonly ask?: ((write: LateWrite<T>) => ObservableInput<boolean>) | undefined
  /** Stores waiting writes beyond the life of the page or program. */
  readonly storage?: WriteStorage | undefined
  /** Timeout of a write, ms. Default: the client's, 10,000. */
  readonly timeout?: number | undefined
  /** Time to live of written values, ms. */
  readonly expiresIn?: number | undefined
  /** Asks the broker to persist the key to disk. */
  readonly persist?: boolean | undefined
}

const OPTION_NAMES: OptionNames<OptimisticOptions<unknown>> = {
  conflict: true,
  offline: true,
  supersede: true,
  maxAge: true,
  ask: true,
  storage: true,
  timeout: true,
  expiresIn: true,
  persist: true,
}
const ALIASES: ForeignOptionNames = { merge: 'conflict', ttl: 'expiresIn', policy: 'offline', maxAgeMs: 'maxAge' }

export interface OptimisticSettings<T> {
  readonly conflict: 'last' | 'refuse' | Merge<T>
  readonly offline: OptimisticOptions<T>['offline']
  /** Whether a late write gives way to a later write of another client. */
  readonly isSuperseded: boolean
  readonly maxAge: number
  readonly ask: (write: LateWrite<T>) => ObservableInput<boolean>
  readonly storage: WriteStorage | undefined
  readonly timeout: number
  readonly expiresIn: number | undefined
  readonly persist: boolean | undefined
}

const CONFLICTS: readonly unknown[] = [undefined, 'last', 'refuse']
const POLICIES: readonly unknown[] = [undefined, 'drop', 'latest', 'ask', 'cas']
const DEFAULT_MAX_AGE_MS = 60_000

/** Returns the options with their defaults. Throws {@link ArgumentError} for invalid ones. */
export function checkOptions<T>(options: OptimisticOptions<T>, timeout: number): OptimisticSettings<T> {
  checkOptionNames('optimistic', options, OPTION_NAMES, ALIASES)
  const { conflict = 'last', offline, supersede, maxAge, ask, storage, expiresIn, persist } = options
  checkArgument(
    typeof conflict === 'function' || CONFLICTS.includes(conflict),
    "`conflict` to be 'last', 'refuse' or a function",
    conflict,
  )
  checkArgument(POLICIES.includes(offline), "`offline` to be 'drop', 'latest', 'ask' or 'cas'", offline)
  const isLastOfLatest = offline === 'latest' && conflict === 'last'
  checkArgument([undefined, 'newer', 'never'].includes(supersede), "`supersede` to be 'newer' or 'never'", supersede)
  if (supersede !== undefined && !isLastOfLatest)
    throw new ArgumentError("`supersede` requires `offline: 'latest'` and no other `conflict` than 'last'")
  for (const [name, value] of Object.entries({ maxAge, timeout: options.timeout, expiresIn }))
    if (value !== undefined) checkPositiveInteger(name, value)
  if (persist !== undefined) checkFlag('persist', persist)
  if (offline === 'ask') checkFunction('ask', ask)
  else if (ask !== undefined) throw new ArgumentError("`ask` requires `offline: 'ask'`")
  if (storage !== undefined) checkHas('storage', storage, ['load', 'save', 'remove'])
  if (!canWait(offline) && (storage !== undefined || maxAge !== undefined))
    throw new ArgumentError("`storage` and `maxAge` need `offline: 'latest'`, 'ask' or 'cas'")
  return {
    conflict,
    offline,
    isSuperseded: isLastOfLatest && supersede !== 'never',
    maxAge: maxAge ?? DEFAULT_MAX_AGE_MS,
    ask: ask ?? neverApprove,
    storage,
    timeout: options.timeout ?? timeout,
    expiresIn,
    persist,
  }
}

const neverApprove = (): ObservableInput<boolean> => []

export const canWait = (offline: OptimisticOptions<unknown>['offline']): boolean =>
  offline !== undefined && offline !== 'drop'

/** Returns the maximum age of a waiting write, ms; see `maxAge`. */
export const maxAgeOf = (
  { offline, maxAge, timeout }: Pick<OptimisticSettings<unknown>, 'offline' | 'maxAge' | 'timeout'>,
  { isLate }: { readonly isLate: boolean },
): number => (isLate && canWait(offline) ? maxAge : timeout)
