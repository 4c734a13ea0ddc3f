import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose'
import { displayText, isWellFormed } from '../../core/util/bytes.js'
import { checkFunction } from '../../core/util/check.js'
import { systemClock } from '../../core/util/clock.js'
import { ArgumentError, reason } from '../../core/util/errors.js'
import { type Warn, warnProcess } from '../../node/net/security-warning.js'
import { StoreClock } from '../service/store-clock.js'
import type { LoginRequest, LoginResult, Method } from './login.js'
import { openTokenKeys, type TokenKeys } from './token-keys.js'

/** The options of {@link Tokens}: which tokens (JWT) are accepted. */
export interface TokenOptions {
  /**
   * The keys of the issuer: a JWK set (RFC 7517) as text, or its `https:` URL. While the server at the URL fails, the
   * keys that it sent last stay in effect for a day.
   */
  readonly jwks: string
  /** A token must contain at least one of these audiences. */
  readonly audiences: readonly string[]
  /** The required issuer. Default: any issuer that has one of the keys. */
  readonly issuer?: string | undefined
  /**
   * Called with a warning when the server at the URL of `jwks` begins to fail, and when it works again. Default: a
   * process warning (`process.emitWarning`, code `RX_STATESTORE_SECURITY`).
   */
  readonly warn?: ((message: string) => void) | undefined
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
/** Maximum number of keys tried for a token, because a token without `kid` may be signed with any of them. */
const MAX_TRIED_KEYS = 8
const MAX_TOKEN_BYTES = 16_384

/** Authenticates clients by signed tokens (JWT), such as the tokens of Kubernetes service accounts. */
export class Tokens {
  readonly #options: TokenOptions
  /** New tokens stay valid, and old ones expire, when the machine's clock is set back. */
  readonly #clock = new StoreClock(systemClock)
  readonly #warn: Warn
  #keys: TokenKeys

  constructor(options: TokenOptions) {
    if (options.audiences.length === 0) throw new ArgumentError('Expected at least one audience for tokens, got none')
    const { warn = warnProcess } = options
    checkFunction('warn', warn)
    this.#options = options
    this.#warn = warn
    this.#keys = openTokenKeys(options.jwks, warn)
  }

  /**
   * Replaces the keys without disconnecting any client. If the text is invalid, throws {@link ArgumentError} and keeps
   * the previous keys.
   */
  load(jwks: string): void {
    this.#keys = openTokenKeys(jwks, this.#warn)
  }

  /**
   * Accepts a token sent with enhanced authentication `K8S-SAT`, or as a password with the user name `K8S-SAT` or no
   * user name. The subject becomes the user name. The connection expires with the token unless the client sends a new
   * token in AUTH.
   */
  readonly method: Method = Object.assign(async (request: LoginRequest) => this.#check(request), {
    proofOf: (request: LoginRequest) => (tokenOf(request) === undefined ? undefined : ('verifiable' as const)),
    problem: () => this.#keys.problem,
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
    const payload = await verifyWithAnyKey(token, this.#keys.get, {
      algorithms: ALGORITHMS,
      audience: [...audiences],
      ...(issuer !== undefined && { issuer }),
      requiredClaims: ['exp', 'sub'],
      clockTolerance: CLOCK_SKEW_SECONDS,
      currentDate: new Date(this.#clock.now()),
    })
    // An empty subject names no client, and clients with it would be one principal.
    if (typeof payload.sub !== 'string' || !isWellFormed(payload.sub) || payload.sub === '')
      throw new errors.JWTInvalid('the subject is not a non-empty text')
    return payload
  }
}

/** Verifies a token with its key, or with each key that it may be signed with. */
async function verifyWithAnyKey(token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, options)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let tried = 0
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload
      } catch (cause) {
        if (!(cause instanceof errors.JWSSignatureVerificationFailed)) throw cause
      }
      if (++tried === MAX_TRIED_KEYS) break
    }
    throw new errors.JWSSignatureVerificationFailed()
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
    username: sub,
    attributes: Object.fromEntries(attributes),
    expiresAt: (exp + CLOCK_SKEW_SECONDS) * 1_000,
  }
  return { principal }
}
