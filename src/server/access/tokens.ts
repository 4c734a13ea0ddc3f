import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { displayText } from '../../core/util/bytes.js'
import { ArgumentError, formatValue, reason } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import { isLoopback } from '../../core/util/host-name.js'
import type { LoginRequest, LoginResult, Method } from './login.js'

/** The options of {@link Tokens}: which tokens (JWT) are accepted. */
export interface TokenOptions {
  /** The keys of the issuer: a JWK set (RFC 7517) as text, or its `https:` URL. */
  readonly jwks: string
  /** A token must contain at least one of these audiences. */
  readonly audiences: readonly string[]
  /** The required issuer. Default: any issuer that has one of the keys. */
  readonly issuer?: string | undefined
}

/**
 * The name of the enhanced authentication method, and the user name of a client that sends its token as the password
 * (AIO).
 */
const SAT_METHOD = 'K8S-SAT'
/** Claims with this prefix, which AIO uses for its service account annotations, become attributes. */
const ATTRIBUTE_PREFIX = 'aio-broker-auth/'
/** Shared-secret algorithms are excluded, because a verifier of such tokens could also create them. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const CLOCK_SKEW_SECONDS = 5
const JWKS_TIMEOUT_MS = 5_000
const MAX_TOKEN_BYTES = 16_384

/** Authenticates clients by signed tokens (JWT), such as the tokens of Kubernetes service accounts. */
export class Tokens {
  readonly #options: TokenOptions
  #keys: JWTVerifyGetKey

  constructor(options: TokenOptions) {
    if (options.audiences.length === 0) throw new ArgumentError('Expected at least one audience for tokens, got none')
    this.#options = options
    this.#keys = createKeySet(options.jwks)
  }

  /**
   * Replaces the keys without disconnecting any client. If the text is invalid, throws {@link ArgumentError} and keeps
   * the previous keys.
   */
  load(jwks: string): void {
    this.#keys = createKeySet(jwks)
  }

  /**
   * Accepts a token sent with enhanced authentication `K8S-SAT`, or as a password with the user name `K8S-SAT` or no
   * user name. The subject becomes the user name. The connection expires with the token unless the client sends a new
   * token in AUTH.
   */
  readonly method: Method = Object.assign(async (request: LoginRequest) => this.#check(request), {
    proofOf: (request: LoginRequest) => (tokenOf(request) === undefined ? undefined : ('verifiable' as const)),
  })

  async #check(request: LoginRequest): Promise<LoginResult | undefined> {
    const token = tokenOf(request)
    if (token === undefined) return undefined
    try {
      return toLoginResult(await this.#verify(token))
    } catch (error) {
      const isInvalidToken = error instanceof errors.JOSEError && !KEY_SERVER_ERRORS.has(error.code)
      return isInvalidToken
        ? { refused: 'credentials', reason: `the token is invalid: ${reason(error)}` }
        : { refused: 'unavailable', reason: 'the keys to verify tokens are unavailable; try again later' }
    }
  }

  async #verify(token: string): Promise<JWTPayload> {
    const { audiences, issuer } = this.#options
    const { payload } = await jwtVerify(token, this.#keys, {
      algorithms: ALGORITHMS,
      audience: [...audiences],
      ...(issuer !== undefined && { issuer }),
      requiredClaims: ['exp', 'sub'],
      clockTolerance: CLOCK_SKEW_SECONDS,
    })
    return payload
  }
}

const KEY_SERVER_ERRORS: ReadonlySet<string> = new Set([
  errors.JOSEError.code,
  errors.JWKSInvalid.code,
  errors.JWKSTimeout.code,
])

function tokenOf({ method, data, username, password }: LoginRequest): string | undefined {
  const isPassword = method === undefined && (username === undefined || username === SAT_METHOD)
  const bytes = method === SAT_METHOD ? (data ?? new Uint8Array(0)) : isPassword ? password : undefined
  // One byte over the limit is kept, so that a truncated token is still rejected as oversized.
  return bytes && displayText(bytes.subarray(0, MAX_TOKEN_BYTES + 1)).trim()
}

function toLoginResult({ sub = '', iss = '', exp = 0, ...claims }: JWTPayload): LoginResult {
  const attributes = Object.entries(claims).flatMap(([name, value]) =>
    name.startsWith(ATTRIBUTE_PREFIX) && typeof value === 'string'
      ? [[name.slice(ATTRIBUTE_PREFIX.length), value] as const]
      : [],
  )
  const principal = {
    id: `token ${JSON.stringify([iss, sub])}`,
    username: sub === '' ? undefined : sub,
    attributes: Object.fromEntries(attributes),
    expiresAt: (exp + CLOCK_SKEW_SECONDS) * 1_000,
  }
  return { principal }
}

function createKeySet(jwks: string): JWTVerifyGetKey {
  const url = URL.canParse(jwks) ? new URL(jwks) : undefined
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname)))
    return createRemoteJWKSet(url, { timeoutDuration: JWKS_TIMEOUT_MS })
  try {
    return createLocalJWKSet(JSON.parse(jwks))
  } catch (cause) {
    const got = url === undefined ? formatValue(reason(cause)) : `got ${formatUrl(jwks)}`
    throw new ArgumentError(`Expected a JWK set or its https: URL: ${got}`, { cause })
  }
}
