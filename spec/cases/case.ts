/** The clients of a case; each has its own connection. */
export type ClientName = 'alice' | 'bob' | 'carol'

/** A notification: `{ set: [key, value] }` or `{ delete: key }`. */
export type NotifiedChange = { readonly set: readonly [key: string, value: string] } | { readonly delete: string }

/** The notifications of a step by client; other clients get none. */
export type Notifications = Readonly<Partial<Record<ClientName, readonly NotifiedChange[]>>>

/**
 * `none`; `new`: greater than every version before and than the request's timestamp; `same as {step}`: that of a step
 * before; or literally.
 */
export type VersionExpectation = 'none' | 'new' | `same as ${string}` | `${number}:${number}:StateStore`

/** A clock in a request: ms, literal text, `version of {step}`, or `null` for none. */
export type ClockValue = number | string | null

/** A request and everything that follows from it. Every character of a text stands for one byte. */
export interface RequestStep {
  /** Words separated by spaces; a list of words; or raw bytes in `payload`. */
  readonly send: string | readonly string[] | { readonly payload: string }
  /** Default `alice`. */
  readonly from?: ClientName
  /** `__ts`; a number says how many ms the client's clock is ahead of the store's. Default 0. */
  readonly ts?: ClockValue
  /** `__ft`; a number counts ms from the start of the case. Default none. */
  readonly ft?: ClockValue
  /** Name under which later steps refer to the version of this one. */
  readonly as?: string
  /** Payload of the response, in the field dialect. */
  readonly reply: string
  readonly version: VersionExpectation
  /** Notifications, which all have the version of the response. */
  readonly told?: Notifications
}

/**
 * Time passes, or an operator sets the store's wall clock; then watching clients get notifications with new versions.
 */
export type TimeStep =
  | { readonly advance: number; readonly told?: Notifications }
  | { readonly jump: number; readonly told?: Notifications }

/** A whole scan, page by page until no token comes: which keys it finds, each once, in any order. */
export interface ScanStep {
  readonly scan: string
  readonly finds: readonly string[]
  /** Keys that a scan may or may not find, as they were created or deleted during it. */
  readonly mayFind?: readonly string[]
  /** Runs after the first page, which must not be the last. */
  readonly meanwhile?: readonly (RequestStep | TimeStep)[]
  /** Default `alice`. */
  readonly from?: ClientName
}

export type Step = RequestStep | TimeStep | ScanStep

/** How much a store may hold. */
export interface Bounds {
  readonly maxKeys?: number
  readonly maxBytes?: number
}

/** The required behaviour of a store, as data. The store starts empty, at 1696374425000 ms. */
export interface ConformanceCase {
  readonly name: string
  /** Default: none that a case comes near. */
  readonly bounds?: Bounds
  readonly steps: readonly Step[]
}

export const OK = '+OK\r\n'
export const REFUSED = ':-1\r\n'
export const DELETED = ':1\r\n'
export const NOTHING = ':0\r\n'
export const ABSENT = '$-1\r\n'

/** Reply with a value. */
export const value = (text: string): string => `$${text.length}\r\n${text}\r\n`

/** Reply with a page of a scan that is the last. */
export const lastPage = (...keys: readonly string[]): string => `*1\r\n*${keys.length}\r\n${keys.map(value).join('')}`

/** Reply with an error. */
export const error = (text: string): string => `-ERR ${text}\r\n`

/** All 256 bytes. */
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
