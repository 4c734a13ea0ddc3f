import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { displayText } from '../../core/util/bytes.js'
import { ArgumentError, formatValue, reason } from '../../core/util/errors.js'
import { isLoopback } from '../../core/util/host-name.js'
import type { LoginRequest, LoginResult, Method } from './login.js'

/** Which tokens are believed. */
export interface TokenOptions {
  /** Keys of their issuer: a JWK set (RFC 7517) as text, or the `https:` address of one. */
  readonly jwks: string
  /** One of these has to be among the audiences of a token. */
  readonly audiences: readonly string[]
  /** Who has to have issued it. Default anybody who has one of the keys. */
  readonly issuer?: string | undefined
}

/** Of enhanced authentication, and the user name where a token is the password (AIO). */
const SAT_METHOD = 'K8S-SAT'
/** Names of claims that become attributes begin like the annotations of a service account in AIO. */
const ATTRIBUTE_PREFIX = 'aio-broker-auth/'
/** Not those with a shared secret: with them anyone who can check a token could make one. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** The clocks of the issuer and of this machine may differ by so much, s. */
const CLOCK_SKEW_SECONDS = 5
/** How long the address of keys may take to answer, ms. */
const JWKS_TIMEOUT_MS = 5_000
const MAX_TOKEN_BYTES = 16_384

/** Tokens that others have signed: JWT, such as those of Kubernetes service accounts. */
export class Tokens {
  readonly #options: TokenOptions
  #keys: JWTVerifyGetKey

  /** Throws {@link ArgumentError}. */
  constructor(options: TokenOptions) {
    if (options.audiences.length === 0) throw new ArgumentError('Expected an audience of tokens, got none')
    this.#options = options
    this.#keys = createKeySet(options.jwks)
  }

  /** Takes other keys. Who is connected stays. Throws {@link ArgumentError}, and keeps those before. */
  load(jwks: string): void {
    this.#keys = createKeySet(jwks)
  }

  /**
   * The method: who shows a token, by enhanced authentication `K8S-SAT`, or as a password without a user name or with that
   * one. The subject is the user name; it is over with the token, unless AUTH brings another.
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
        ? { refused: 'credentials', reason: `the token does not do: ${reason(error)}` }
        : { refused: 'unavailable', reason: 'the keys of tokens cannot be had at the moment' }
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

/** Errors of the key server, not of a token. */
const KEY_SERVER_ERRORS: ReadonlySet<string> = new Set([
  errors.JOSEError.code,
  errors.JWKSInvalid.code,
  errors.JWKSTimeout.code,
])

function tokenOf({ method, data, username, password }: LoginRequest): string | undefined {
  const isPassword = method === undefined && (username === undefined || username === SAT_METHOD)
  const bytes = method === SAT_METHOD ? (data ?? new Uint8Array(0)) : isPassword ? password : undefined
  // One that is too long is none, and refused as such.
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
    throw new ArgumentError(`Expected a JWK set, or an https: address of one: ${formatValue(reason(cause))}`, { cause })
  }
}
