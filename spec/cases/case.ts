/** The clients of a case, each of which has a separate connection. */
export type ClientName = 'alice' | 'bob' | 'carol'

/** A notification: `{ set: [key, value] }` or `{ delete: key }`. */
export type NotifiedChange = { readonly set: readonly [key: string, value: string] } | { readonly delete: string }

/** The notifications of a step by client. Clients that are not listed receive none. */
export type Notifications = Readonly<Partial<Record<ClientName, readonly NotifiedChange[]>>>

/**
 * The expected version: `none`; `new` for a version greater than all earlier versions and than the request's timestamp;
 * `same as {step}` for the version of an earlier step; or a literal version.
 */
export type VersionExpectation = 'none' | 'new' | `same as ${string}` | `${number}:${number}:StateStore`

/** A clock in a request: a number of milliseconds, literal text, `version of {step}`, or `null` for none. */
export type ClockValue = number | string | null

/** A request and all its consequences. Every character of a text stands for one byte. */
export interface RequestStep {
  /** The words separated by spaces, a list of words, or raw bytes in `payload`. */
  readonly send: string | readonly string[] | { readonly payload: string }
  /** The client. The default is `alice`. */
  readonly from?: ClientName
  /**
   * The property `__ts`. A number is how many milliseconds the client's clock is ahead of the store's. The default is
   * 0.
   */
  readonly ts?: ClockValue
  /** The property `__ft`. A number counts milliseconds from the start of the case. By default, there is none. */
  readonly ft?: ClockValue
  /** The name by which later steps refer to the version of this step. */
  readonly as?: string
  /** The response's payload, in the field dialect. */
  readonly reply: string
  readonly version: VersionExpectation
  /** The notifications, all of which have the response's version. */
  readonly told?: Notifications
}

/**
 * A step in which time passes or an operator sets the store's wall clock. Watching clients then receive notifications
 * with new versions.
 */
export type TimeStep =
  | { readonly advance: number; readonly told?: Notifications }
  | { readonly jump: number; readonly told?: Notifications }

/** A complete scan, page by page until there is no token. It finds the given keys, each exactly once, in any order. */
export interface ScanStep {
  readonly scan: string
  readonly finds: readonly string[]
  /** The keys that a scan may or may not find, because they were created or deleted during the scan. */
  readonly mayFind?: readonly string[]
  /** The steps to run after the first page, which must not be the last page. */
  readonly meanwhile?: readonly (RequestStep | TimeStep)[]
  /** The client. The default is `alice`. */
  readonly from?: ClientName
}

export type Step = RequestStep | TimeStep | ScanStep

/** A store's limits. */
export interface Bounds {
  readonly maxKeys?: number
  readonly maxBytes?: number
}

/** The steps of a case at a store with limits that the case reaches. */
export interface LimitedCase {
  readonly bounds: Bounds
  readonly steps: readonly Step[]
}

/** The required behaviour of a store, as data by title. Each case starts with an empty store at 1696374425000 ms. */
export type ConformanceCases = Readonly<Record<string, readonly Step[] | LimitedCase>>

export const OK = '+OK\r\n'
export const REFUSED = ':-1\r\n'
export const DELETED = ':1\r\n'
export const NOTHING = ':0\r\n'
export const ABSENT = '$-1\r\n'

/** Returns the reply with a value. */
export const value = (text: string): string => `$${text.length}\r\n${text}\r\n`

/** Returns the reply with the last page of a scan. */
export const lastPage = (...keys: readonly string[]): string => `*1\r\n*${keys.length}\r\n${keys.map(value).join('')}`

/** Returns the reply with an error. */
export const error = (text: string): string => `-ERR ${text}\r\n`

/** A string of all 256 bytes. */
export const EVERY_BYTE = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join('')

export const CLOCK_SKEW = error(
  'the request timestamp is too far in the future; ensure that the client and broker system clocks are synchronized',
)
export const TOKEN_REQUIRED = error('a fencing token is required for this request')
export const TOKEN_SKEW = error(
  'the request fencing token timestamp is too far in the future; ensure that the client and broker system clocks are synchronized',
)
export const TOKEN_STALE = error(
  'the request fencing token is a lower version than the fencing token protecting the resource',
)
export const QUOTA = error('the quota has been exceeded')
export const SYNTAX = error('syntax error')
export const UNKNOWN = error('unknown command')
export const WRONG_COUNT = error('wrong number of arguments')
export const MISSING_TIMESTAMP = error('missing timestamp')
export const MALFORMED_TIMESTAMP = error('malformed timestamp')
export const EMPTY_KEY = error('the key length is zero')
