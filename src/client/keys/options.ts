import { fromEvent, Observable, share } from 'rxjs'
import { Hlc } from '../../core/hlc/hlc.js'
import type { SetCondition } from '../../core/protocol/commands.js'
import { checkFlag, checkPositiveInteger, type ForeignOptionNames, type OptionNames } from '../../core/util/check.js'
import { AbortError, ArgumentError, formatValue, HlcError } from '../../core/util/errors.js'
import type { WriteOptions } from '../requests/commands.js'

/** Options of every request. */
export interface RequestOptions {
  /**
   * Time until the request fails, ms, which is also sent to the broker as the message expiry. Default: the client's
   * timeout, 10 s.
   */
  readonly timeout?: number | undefined
}

/** Options of a delete. */
export interface DeleteOptions extends RequestOptions {
  /** The version of the lock key, which proves that the caller holds the lock that protects the key. */
  readonly fencingToken?: Hlc | string | undefined
}

/** Options of a write. */
export interface SetOptions extends DeleteOptions {
  /** Writes only if the key is absent (`NX`). */
  readonly ifAbsent?: boolean | undefined
  /** Writes only if the key is absent or already has the value that is written (`NEX`). */
  readonly ifAbsentOrEqual?: boolean | undefined
  /**
   * Writes only if the key exists and still has this version. Requires the store of this package, because `IFVER` is
   * not part of the protocol; other stores answer `syntax-error`.
   */
  readonly ifVersion?: Hlc | string | undefined
  /** Time to live in ms, a positive integer. A write without this option makes the key permanent. */
  readonly expiresIn?: number | undefined
  /** Asks the broker to keep the key on disk. */
  readonly persist?: boolean | undefined
}

export const ABORT_NAMES: OptionNames<AbortOptions> = { signal: true }
export const GET_NAMES: OptionNames<RequestOptions> = { timeout: true }
export const DELETE_NAMES: OptionNames<DeleteOptions> = { ...GET_NAMES, fencingToken: true }
export const SET_NAMES: OptionNames<SetOptions> = {
  ...DELETE_NAMES,
  ifAbsent: true,
  ifAbsentOrEqual: true,
  ifVersion: true,
  expiresIn: true,
  persist: true,
}

/** Option names of the protocol and of other stores, for error messages. */
export const ALIASES: ForeignOptionNames = {
  px: 'expiresIn',
  ttl: 'expiresIn',
  ttlMs: 'expiresIn',
  expiry: 'expiresIn',
  nx: 'ifAbsent',
  nex: 'ifAbsentOrEqual',
  token: 'fencingToken',
  abortSignal: 'signal',
}

export function checkSetOptions(options: SetOptions, token?: Hlc): WriteOptions {
  const { expiresIn, fencingToken, persist } = options
  if (expiresIn !== undefined) checkPositiveInteger('expiresIn', expiresIn)
  for (const name of FLAGS) checkFlag(name, options[name] ?? false)
  return {
    condition: conditionOf(options),
    px: expiresIn,
    fencingToken: checkToken(fencingToken) ?? token,
    persist,
  }
}

/** Another value, such as one to compare with, would silently count as `true`. */
const FLAGS = ['ifAbsent', 'ifAbsentOrEqual', 'persist'] as const
const CONDITIONS = ['ifAbsent', 'ifAbsentOrEqual', 'ifVersion'] as const

function conditionOf(options: SetOptions): SetCondition | undefined {
  const [one, other] = CONDITIONS.filter(name => options[name])
  if (other) throw new ArgumentError(`Expected one of \`${one}\` and \`${other}\`, got both`)
  const version = checkVersion('ifVersion', options.ifVersion)
  if (version) return { type: 'IFVER', version }
  if (options.ifAbsent) return { type: 'NX' }
  return options.ifAbsentOrEqual ? { type: 'NEX', comparand: undefined } : undefined
}

export const checkToken = (token: Hlc | string | undefined): Hlc | undefined => checkVersion('fencingToken', token)

function checkVersion(name: string, token: Hlc | string | undefined): Hlc | undefined {
  if (token === undefined || token instanceof Hlc) return token
  try {
    return Hlc.parse(formatValue(token))
  } catch (cause) {
    if (!(cause instanceof HlcError)) throw cause
    throw new ArgumentError(
      `Expected \`${name}\` to be a version such as 1696374425000:1:StateStore, got \`${formatValue(token).slice(0, 80)}\``,
      { cause },
    )
  }
}

export function checkTimeout(timeout: number | undefined, defaultMs: number): number {
  if (timeout === undefined) return defaultMs
  checkPositiveInteger('timeout', timeout)
  return timeout
}

/** Options for callers that have no subscription to cancel. */
export interface AbortOptions {
  /**
   * Aborting the signal cancels the call, as unsubscribing does. The call then errors with `aborted`, whose `cause` is
   * the signal's reason. With a signal that is already aborted, nothing is sent.
   */
  readonly signal?: AbortSignal | undefined
}

export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  // Checks the shape, because a signal may come from another window or worker.
  if (signal === undefined || typeof signal?.addEventListener === 'function') return signal
  throw new ArgumentError(`Expected \`signal\` to be an AbortSignal, got \`${formatValue(signal)}\` (${typeof signal})`)
}

export function abortable<T>(source: Observable<T>, signal: AbortSignal | undefined): Observable<T> {
  if (signal === undefined) return source
  return new Observable(subscriber => {
    if (signal.aborted) {
      subscriber.error(new AbortError(signal.reason))
      return
    }
    // Node warns of a leak at the eleventh listener of a signal, so the calls share one.
    const abort$ = aborts.get(signal) ?? fromEvent(signal, 'abort').pipe(share())
    aborts.set(signal, abort$)
    subscriber.add(abort$.subscribe(() => subscriber.error(new AbortError(signal.reason))))
    source.subscribe(subscriber)
  })
}

const aborts = /* @__PURE__ */ new WeakMap<AbortSignal, Observable<unknown>>()
