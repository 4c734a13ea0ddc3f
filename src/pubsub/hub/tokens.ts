import { jwtVerify, SignJWT } from 'jose'
import { isBytes } from '../../core/util/built-in-types.js'
import { utf8 } from '../../core/util/bytes.js'
import { checkArgument, checkObject } from '../../core/util/check.js'
import { ArgumentError, PayloadError, reason } from '../../core/util/errors.js'
import { type Identity, identityProblem } from './identity.js'

/** The identity in a token. See {@link Identity}. */
export interface TokenOptions extends Identity {
  /**
   * The time in ms for which the token can open connections, to which hubs add five minutes for differences of clocks.
   * Default: one hour. Open connections are not affected.
   */
  readonly expiresIn?: number | undefined
}

/** The claims of access tokens in addition to the registered claims (Azure Web PubSub, access tokens). */
const ROLE_CLAIM = 'role'
const GROUP_CLAIM = 'webpubsub.group'
/** The tolerated difference in s between the clocks of the signer and the hub. */
const MAX_CLOCK_SKEW_S = 300
const DEFAULT_LIFETIME_MS = 3_600_000
/** The minimum size of a key in bytes, which is the size of the hash (RFC 7518, section 3.2). */
const MIN_KEY_BYTES = 32

/** Signs and verifies access tokens, which are JWT with HS256 (RFC 7519). */
export class AccessTokens {
  readonly #key: Uint8Array

  /**
   * Creates a key's tokens. A key given as a string is encoded as UTF-8, as in Azure. Throws {@link ArgumentError}
   * for a key shorter than 32 bytes.
   */
  constructor(key: string | Uint8Array) {
    const bytes = typeof key === 'string' ? utf8(key) : key
    if (!isBytes(bytes) || bytes.length < MIN_KEY_BYTES) {
      throw new ArgumentError(`Expected \`authenticate.key\` to have at least ${MIN_KEY_BYTES} bytes`)
    }
    this.#key = new Uint8Array(bytes)
  }

  /**
   * Signs a token for an audience, such as `http://localhost/client/hubs/chat`. Rejects with {@link ArgumentError} for
   * an invalid identity.
   *
   * @param now - ms since the Unix epoch
   */
  async sign(audience: string, options: TokenOptions, now: number): Promise<string> {
    checkObject('options', options)
    const { userId, roles = [], groups = [], expiresIn = DEFAULT_LIFETIME_MS } = options
    const problem = identityProblem(options)
    if (problem !== undefined) throw new ArgumentError(`Invalid identity: ${problem}`)
    checkArgument(Number.isFinite(expiresIn) && expiresIn > 0, '`expiresIn` to be a positive number of ms', expiresIn)
    const token = new SignJWT({ [ROLE_CLAIM]: roles, [GROUP_CLAIM]: groups })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setAudience(audience)
      .setIssuedAt(Math.floor(now / 1000))
      .setExpirationTime(Math.ceil((now + expiresIn) / 1000))
    if (userId !== undefined) token.setSubject(userId)
    return token.sign(this.#key)
  }

  /**
   * Verifies a token and returns its identity. Rejects with {@link PayloadError} if the signature, expiry, audience or
   * identity is invalid.
   *
   * @param path - path of the audience; the scheme and host of the audience are ignored because of proxies
   * @param now - ms since the Unix epoch
   */
  async verify(token: string, path: string, now: number): Promise<Identity> {
    const { payload } = await jwtVerify(token, this.#key, {
      algorithms: ['HS256'],
      requiredClaims: ['exp'],
      clockTolerance: MAX_CLOCK_SKEW_S,
      currentDate: new Date(now),
    }).catch(cause => {
      throw new PayloadError(reason(cause), { cause })
    })
    if (!stringsOf(payload.aud).some(audience => pathOf(audience) === path)) {
      throw new PayloadError(`the audience is not ${path}`)
    }
    const identity = {
      userId: payload.sub,
      roles: stringsOf(payload[ROLE_CLAIM]),
      groups: stringsOf(payload[GROUP_CLAIM]),
    }
    const problem = identityProblem(identity)
    if (problem !== undefined) throw new PayloadError(problem)
    return identity
  }
}

/** Returns the strings of a claim that may be an array, a single value or absent. */
function stringsOf(claim: unknown): string[] {
  const values: unknown[] = Array.isArray(claim) ? claim : [claim]
  return values.filter(value => typeof value === 'string')
}

/** Returns the decoded path in lower case, because hub names are case-insensitive. */
function pathOf(url: string): string | undefined {
  if (!/^(?:http|ws)s?:\/\//i.test(url) || !URL.canParse(url)) return undefined
  try {
    return decodeURIComponent(new URL(url).pathname).toLowerCase()
  } catch {
    return undefined
  }
}
