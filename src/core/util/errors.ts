import { isError } from './built-in-types.js'
/** Codes of errors. Other folders add their codes by declaration merging. */
export interface ErrorCodes extends Record<ServiceErrorCode, true> {
  argument: true
  timeout: true
  'outcome-unknown': true
  closed: true
  aborted: true
  overflow: true
  'connection-refused': true
  'connection-lost': true
  /** Credentials that expire soon could not be renewed. */
  credentials: true
  payload: true
  decode: true
  hlc: true
  'request-rejected': true
  /** Stored data is corrupt or incomplete. */
  damaged: true
}

/**
 * A stable code on which programs can branch. The code selects the remedy; the message contains what happened, to which
 * key, and what to do. New codes may be added; no code changes its meaning.
 */
export type ErrorCode = keyof ErrorCodes

/** Codes of the state store's own errors, `-ERR ...`. */
export type ServiceErrorCode =
  | 'clock-skew'
  | 'fencing-token-required'
  | 'fencing-token-skew'
  | 'fencing-token-stale'
  | 'quota-exceeded'
  | 'syntax-error'
  | 'not-authorized'
  | 'unknown-command'
  | 'wrong-argument-count'
  | 'timestamp-missing'
  | 'timestamp-malformed'
  | 'key-empty'
  | 'service-unknown'

/**
 * Base class of all errors of this library.
 *
 * @example
 * ```ts
 * key.set(21).subscribe({
 *   error: e => {
 *     if (e instanceof StateStoreError && e.code === 'timeout')
 *       retryLater()
 *   },
 * })
 * ```
 */
export class StateStoreError extends Error {
  override readonly name: string = 'StateStoreError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * The call was invalid, and nothing was sent. The call throws this error, or the operator that received the value
 * errors with it.
 */
export class ArgumentError extends StateStoreError {
  override readonly name = 'ArgumentError'

  constructor(message: string, options?: ErrorOptions) {
    super('argument', message, options)
  }
}

/** The store replied `-ERR {text}`. `text` is verbatim, even if this library does not know the text. */
export class ServiceError extends StateStoreError {
  override readonly name = 'ServiceError'
  readonly text: string
  readonly key: string | undefined

  constructor(code: ServiceErrorCode, text: string, key?: string, advice?: string) {
    super(
      code,
      `The state store refused the request${forKey(key)}: ${text}${advice === undefined ? '' : `; ${advice}`}`,
    )
    this.text = text
    this.key = key
  }
}

/** No response arrived in time, and the request certainly changed nothing in the store. */
export class TimeoutError extends StateStoreError {
  override readonly name = 'TimeoutError'
  readonly key: string | undefined

  /** @param why - the reason in the message. Default: the message of `connection` */
  constructor(
    timeout: number,
    key?: string,
    connection?: StateStoreError,
    why = connection && notConnected(connection),
  ) {
    super(
      'timeout',
      `No answer within ${timeout} ms${forKey(key)}${why === undefined ? '' : ` (${why})`}; the request changed nothing and may be repeated`,
      connection && { cause: connection },
    )
    this.key = key
  }
}

export const notConnected = ({ message }: StateStoreError): string => `not connected: ${message}`

export interface UncertainSubject {
  readonly what: string
  readonly remedy: string
}

const WRITE: UncertainSubject = { what: 'a write', remedy: 'read the key before trying again' }

/**
 * A write or a message was sent and its response was lost. The write may have been applied, or the message delivered,
 * or not. Read the key of a write before deciding what to do. The request is never repeated automatically, because
 * another client may have written in between, or subscribers would receive a message twice.
 */
export class OutcomeUnknownError extends StateStoreError {
  override readonly name = 'OutcomeUnknownError'
  readonly key: string | undefined

  constructor(why: string, key?: string, of: UncertainSubject = WRITE) {
    super('outcome-unknown', `The outcome of ${of.what}${forKey(key)} is unknown: ${why}; ${of.remedy}`)
    this.key = key
  }
}

/** The client was closed by its caller, or permanently by the broker, in which case `cause` contains the reason. */
export class ClosedError extends StateStoreError {
  override readonly name = 'ClosedError'

  constructor(message = 'The client is closed; connect again to continue', options?: ErrorOptions) {
    super('closed', message, options)
  }
}

/**
 * The caller's `AbortSignal` was aborted; `cause` is the signal's reason. As after unsubscribing, nothing more is sent,
 * and a write that was sent may have been applied. The error has the same name as the platform's own error.
 */
export class AbortError extends StateStoreError {
  override readonly name = 'AbortError'

  constructor(cause: unknown) {
    super('aborted', `Aborted by the caller: ${reason(cause)}`, { cause })
  }
}

/** A bounded buffer is full, and the request was not sent. Slow down, or conflate with `latest`. */
export class OverflowError extends StateStoreError {
  override readonly name = 'OverflowError'

  constructor(what: string, limit: number) {
    super('overflow', `${what} is full (${limit}); the request was not sent: slow down, raise the limit or conflate`)
  }
}

/** The broker refused or closed the connection with a reason that makes a retry pointless. */
export class ConnectionRefusedError extends StateStoreError {
  override readonly name = 'ConnectionRefusedError'
  /** MQTT 5 reason code (MQTT 5.0, section 2.4), such as 135 for "Not authorized". */
  readonly reasonCode: number | undefined

  constructor(message: string, reasonCode?: number, options?: ErrorOptions) {
    super('connection-refused', message, options)
    this.reasonCode = reasonCode
  }
}

/** The connection was lost. This error is the cause of `reconnecting` and never ends a watch. */
export class ConnectionLostError extends StateStoreError {
  override readonly name = 'ConnectionLostError'
  /** MQTT 5 reason code (MQTT 5.0, section 2.4) with which the broker closed or refused the connection, if any. */
  readonly reasonCode: number | undefined

  constructor(message = 'The connection to the broker was lost', options?: ErrorOptions, reasonCode?: number) {
    super('connection-lost', message, options)
    this.reasonCode = reasonCode
  }
}

/** Data from the network violates the protocol. */
export class PayloadError extends StateStoreError {
  override readonly name = 'PayloadError'

  constructor(message: string, options?: ErrorOptions) {
    super('payload', message, options)
  }
}

/** A key's codec cannot decode the stored value. The watch continues. */
export class DecodeError extends StateStoreError {
  override readonly name = 'DecodeError'
  readonly key: string
  /** Version of the value in wire form, if known. */
  readonly version: string | undefined

  constructor(key: string, version: string | undefined, cause: unknown) {
    super(
      'decode',
      `The value of ${JSON.stringify(key)} (version ${version ?? 'unknown'}) cannot be decoded: ${reason(cause)}`,
      {
        cause,
      },
    )
    this.key = key
    this.version = version
  }
}

/** A hybrid logical clock reading is malformed, or is too far ahead of the wall clock. */
export class HlcError extends StateStoreError {
  override readonly name = 'HlcError'
  readonly problem: 'malformed' | 'drift'

  constructor(problem: 'malformed' | 'drift', message: string) {
    super('hlc', message)
    this.problem = problem
  }
}

/**
 * The request was rejected before it reached the store, by an RPC status other than 200 or a PUBACK with a reason code.
 */
export class RequestRejectedError extends StateStoreError {
  override readonly name = 'RequestRejectedError'
  /** The RPC `__stat`, or the reason code of the PUBACK. */
  readonly status: number

  constructor(status: number, message: string, key?: string) {
    super('request-rejected', `${message}${forKey(key)}`)
    this.status = status
  }
}

export const forKey = (key: string | undefined): string => (key === undefined ? '' : ` for key ${JSON.stringify(key)}`)

/** Returns an error's message, or any other thrown value as text. Never throws. */
export function reason(cause: unknown): string {
  try {
    // Node reports several failed addresses of a host as an error without a message.
    const failures = failuresOf(cause)
    if (failures.length > 0 && isError(cause) && cause.message === '') return failures.map(reason).join('; ')
    return formatValue(isError(cause) ? cause.message : cause)
  } catch {
    return UNPRINTABLE
  }
}

/** Returns the errors of an AggregateError, and none for any other value. */
const failuresOf = (error: unknown): readonly unknown[] =>
  isError(error) && 'errors' in error && Array.isArray(error.errors) ? error.errors : []

/** Converts a value to text. Never throws. */
export function formatValue(value: unknown): string {
  try {
    return String(value)
  } catch {
    return objectTag(value)
  }
}

function objectTag(value: unknown): string {
  try {
    return Object.prototype.toString.call(value)
  } catch {
    return UNPRINTABLE
  }
}

const UNPRINTABLE = 'something that cannot be shown as text'

/**
 * Returns the message of the innermost cause of an error, or all different messages if several addresses of a host
 * failed.
 */
export function rootCause(error: unknown): string {
  const cause = innermostCause(error)
  const failures = failuresOf(cause)
  if (failures.length === 0) return reason(cause)
  return Array.from(new Set(failures.map(failure => reason(innermostCause(failure))))).join(', ')
}

/** Maximum number of causes that are followed, because causes may be cyclic. */
const MAX_CAUSES = 100

function innermostCause(error: unknown): unknown {
  let inner = error
  for (let i = 0; i < MAX_CAUSES && isError(inner) && inner.cause !== undefined; i++) {
    if (failuresOf(inner).length > 0) break
    inner = inner.cause
  }
  return inner
}

const IDENTIFIER = /^[\w.-]{1,64}$/

/**
 * Returns the name and code of an error, for logs. The message is omitted because it may contain an address or a
 * password.
 *
 * @example
 * ```ts
 * // 'Error ECONNREFUSED'
 * errorLabel(
 *   Object.assign(new Error('no response from db.internal'), {
 *     code: 'ECONNREFUSED',
 *   }),
 * )
 * ```
 */
export function errorLabel(error: unknown): string {
  if (!isError(error)) return `a thrown ${typeof error}`
  const name = IDENTIFIER.test(error.name) ? error.name : 'Error'
  const code = 'code' in error && typeof error.code === 'string' && IDENTIFIER.test(error.code) ? ` ${error.code}` : ''
  return name + code
}
