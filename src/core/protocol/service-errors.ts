import { ServiceError, type ServiceErrorCode } from '../util/errors.js'

/**
 * What the store says after `-ERR ` (state store protocol, "-ERR responses"): the one list from which the store's
 * answers and the client's codes both come.
 */
export const SERVICE_ERRORS = {
  'clock-skew':
    'the request timestamp is too far in the future; ensure that the client and broker system clocks are synchronized',
  'fencing-token-required': 'a fencing token is required for this request',
  'fencing-token-skew':
    'the request fencing token timestamp is too far in the future; ensure that the client and broker system clocks are synchronized',
  'fencing-token-stale': 'the request fencing token is a lower version than the fencing token protecting the resource',
  'quota-exceeded': 'the quota has been exceeded',
  'syntax-error': 'syntax error',
  'not-authorized': 'not authorized',
  'unknown-command': 'unknown command',
  'wrong-argument-count': 'wrong number of arguments',
  'timestamp-missing': 'missing timestamp',
  'timestamp-malformed': 'malformed timestamp',
  'key-empty': 'the key length is zero',
} as const satisfies Record<Exclude<ServiceErrorCode, 'service-unknown'>, string>

/** Codes of the texts the store is known to say. */
export type KnownServiceErrorCode = keyof typeof SERVICE_ERRORS

// Older pages of the documents spell this one "lower version that"; only its start is reliable.
const STALE_TOKEN_START = 'the request fencing token is a lower version'

const CODES = new Map<string, ServiceErrorCode>(
  Object.entries(SERVICE_ERRORS).map(([code, text]) => [text, code as KnownServiceErrorCode]),
)

/**
 * The error for a reply `-{line}`: `ERR text`, `ERR: text` or anything else, kept word by word. `advice` says what a code
 * means for the request at hand.
 */
export function serviceError(
  line: string,
  key?: string,
  advice: Partial<Record<ServiceErrorCode, string>> = {},
): ServiceError {
  const text = line.replace(/^ERR(?:: *| +|$)/, '').trimEnd()
  const code = text.startsWith(STALE_TOKEN_START) ? 'fencing-token-stale' : (CODES.get(text) ?? 'service-unknown')
  return new ServiceError(code, text, key, advice[code])
}
