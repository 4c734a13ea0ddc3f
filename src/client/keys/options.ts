import { Observable } from 'rxjs'
import { Hlc } from '../../core/hlc/hlc.js'
import type { SetCondition } from '../../core/protocol/commands.js'
import { checkPositiveInteger, type OptionNames, type OtherNames } from '../../core/util/check.js'
import { AbortError, ArgumentError, formatValue, HlcError } from '../../core/util/errors.js'
import type { WriteOptions } from '../requests/commands.js'

/** Options of every request. */
export interface RequestOptions {
  /** ms until the request has failed, also told to the broker as message expiry. Default: that of the client, 10 s. */
  readonly timeout?: number | undefined
}

/** Options of a delete. */
export interface DeleteOptions extends RequestOptions {
  /** Proof of holding the lock that protects the key: the version of the lock. */
  readonly fencingToken?: Hlc | string | undefined
}

/** Options of a write. */
export interface SetOptions extends DeleteOptions {
  /** Only if there is no such key (`NX`). */
  readonly ifAbsent?: boolean | undefined
  /** Only if there is no such key, or it holds this very value already (`NEX`). */
  readonly ifAbsentOrEqual?: boolean | undefined
  /**
   * Only if the key exists and has this very version: nobody has written it since. A request of our store, since the
   * protocol has none (`IFVER`); any other answers `syntax-error`.
   */
  readonly ifVersion?: Hlc | string | undefined
  /** Time to live, ms, a positive integer. A write without it makes the key permanent. */
  readonly expiresIn?: number | undefined
  /** Ask the broker to keep the key on disk. */
  readonly persist?: boolean | undefined
}

/** The names of options, of a loop over a watch and of requests. */
export const LOOP_NAMES: OptionNames<AbortOptions> = { signal: true }
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

/** What the protocol and other stores call them. */
export const ELSEWHERE: OtherNames = {
  px: 'expiresIn',
  ttl: 'expiresIn',
  ttlMs: 'expiresIn',
  expiry: 'expiresIn',
  nx: 'ifAbsent',
  nex: 'ifAbsentOrEqual',
  token: 'fencingToken',
  abortSignal: 'signal',
}

/** Checks options before anything is sent; `token` is used when they bring none. Throws {@link ArgumentError}. */
export function checkSetOptions(options: SetOptions, token?: Hlc): WriteOptions {
  const { expiresIn, fencingToken, persist } = options
  if (expiresIn !== undefined) checkPositiveInteger('expiresIn', expiresIn)
  return {
    condition: conditionOf(options),
    px: expiresIn,
    fencingToken: checkToken(fencingToken) ?? token,
    persist,
  }
}

const CONDITIONS = ['ifAbsent', 'ifAbsentOrEqual', 'ifVersion'] as const

function conditionOf(options: SetOptions): SetCondition | undefined {
  const [one, other] = CONDITIONS.filter(name => options[name])
  if (other) throw new ArgumentError(`Expected one of \`${one}\` and \`${other}\`, got both`)
  const version = checkVersion('ifVersion', options.ifVersion)
  if (version) return { type: 'IFVER', version }
  if (options.ifAbsent) return { type: 'NX' }
  return options.ifAbsentOrEqual ? { type: 'NEX', comparand: undefined } : undefined
}

/** Checks a fencing token. Throws {@link ArgumentError}. */
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

/** A request's timeout, ms. Throws {@link ArgumentError}. */
export function checkTimeout(timeout: number | undefined, byDefault: number): number {
  if (timeout === undefined) return byDefault
  checkPositiveInteger('timeout', timeout)
  return timeout
}

/** For callers who hold no subscription. */
export interface AbortOptions {
  /**
   * Gives up when it is aborted, as unsubscribing does, and errors with `aborted`, whose `cause` is the signal's reason.
   * Aborted before, nothing is sent.
   */
  readonly signal?: AbortSignal | undefined
}

/** The signal of options. Throws {@link ArgumentError}. */
export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  // By its shape: one of another window or worker is a signal, too.
  if (signal === undefined || typeof signal?.addEventListener === 'function') return signal
  throw new ArgumentError(`Expected \`signal\` to be an AbortSignal, got \`${formatValue(signal)}\` (${typeof signal})`)
}

/** The same, but ended by the signal. */
export function abortable<T>(source: Observable<T>, signal: AbortSignal | undefined): Observable<T> {
  if (signal === undefined) return source
  return new Observable(subscriber => {
    if (signal.aborted) {
      subscriber.error(new AbortError(signal.reason))
      return
    }
    const abort = (): void => subscriber.error(new AbortError(signal.reason))
    signal.addEventListener('abort', abort)
    subscriber.add(() => signal.removeEventListener('abort', abort))
    source.subscribe(subscriber)
  })
}
