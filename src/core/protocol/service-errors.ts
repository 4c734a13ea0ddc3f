import { ServiceError, type ServiceErrorCode } from '../util/errors.js'

/**
 * The texts that follow `-ERR ` (state store protocol, "-ERR responses"), as the single source of the store's replies
 * and the client's codes.
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

export type KnownServiceErrorCode = keyof typeof SERVICE_ERRORS

// Older pages of the documents spell this text "lower version that", so only its beginning is reliable.
const STALE_TOKEN_START = 'the request fencing token is a lower version'

const CODES = new Map<string, ServiceErrorCode>(
  Object.entries(SERVICE_ERRORS).map(([code, text]) => [text, code as KnownServiceErrorCode]),
)

/**
 * Converts a reply `-{line}` to an error: `ERR text`, `ERR: text` or any other text, which is kept verbatim. `advice`
 * explains a code in the context of the request.
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
