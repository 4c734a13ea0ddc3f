import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, errorLabel, PayloadError, reason } from '../../core/util/errors.js'
import type { Handshake, HandshakeRefusal } from './handshake.js'
import { type Identity, identityProblem } from './identity.js'
import { ALL_ROLES } from './permissions.js'
import { AccessTokens } from './tokens.js'

/** The handshake of a client that wants to connect. */
export interface ConnectRequest {
  /** The hub's name, in lower case. */
  readonly hub: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The access token from the URL or the `Authorization` header. It is not verified. */
  readonly accessToken: string | undefined
}

/** Returns a client's identity, or `false` to refuse it. */
export type Identify = (request: ConnectRequest) => Identity | false | Promise<Identity | false>

/**
 * Decides which clients may connect. `{ key }`: clients with an access token signed with the key. `'anonymous'`: every
 * client, with full access, for development. A function: clients for which the function returns an identity. Addresses
 * with many refusals are throttled, because credentials may be guessed. `{ verify }`: the same as a function but
 * without throttling, for credentials that cannot be guessed, such as tokens signed elsewhere.
 */
export type Authenticate =
  | 'anonymous'
  | { readonly key: string | Uint8Array }
  | { readonly verify: Identify }
  | Identify

/** Identifies a client. Never rejects. */
export type Authenticator = (handshake: Handshake, headers: IncomingHttpHeaders) => Promise<Identity | HandshakeRefusal>

/**
 * Creates an authenticator.
 *
 * @param authenticate - decision, with `{ key }` replaced by its access tokens
 * @param path - prefix of the path in the audience of access tokens
 * @param onError - called with errors thrown by the application's function
 */
export function createAuthenticator(
  authenticate: Exclude<Authenticate, { key: unknown }> | AccessTokens,
  path: string,
  clock: Clock,
  onError: (error: unknown) => void,
): Authenticator {
  if (authenticate === 'anonymous') return async () => ({ roles: ALL_ROLES })
  if (authenticate instanceof AccessTokens) return byToken(authenticate, path, clock)
  return byCallback(typeof authenticate === 'function' ? authenticate : authenticate.verify, onError)
}

export const isGuessable = (authenticate: Authenticate): boolean => typeof authenticate === 'function'

export function checkAuthenticate(authenticate: Authenticate): void {
  if (authenticate === 'anonymous' || typeof authenticate === 'function') return
  if (typeof authenticate === 'object' && authenticate !== null) {
    if ('key' in authenticate || typeof authenticate.verify === 'function') return
  }
  throw new ArgumentError("Expected `authenticate` to be { key }, { verify }, 'anonymous' or a function")
}

const byToken =
  (tokens: AccessTokens, path: string, clock: Clock): Authenticator =>
  async ({ hub, accessToken }) => {
    if (accessToken === undefined) return { status: 401, text: 'An access token is required' }
    try {
      return await tokens.verify(accessToken, `${path}/hubs/${hub}`.toLowerCase(), clock.now())
    } catch (error) {
      return { status: 401, text: `The access token was rejected: ${reason(error)}` }
    }
  }

const byCallback =
  (callback: Identify, onError: (error: unknown) => void): Authenticator =>
  async ({ hub, query, accessToken }, headers) => {
    try {
      const identity = await callback({ hub, query, headers, accessToken })
      if (identity === false) return { status: 401, text: 'The connection is refused' }
      const problem = identityProblem(identity)
      if (problem !== undefined) throw new PayloadError(problem)
      return identity
    } catch (error) {
      onError(error)
      return {
        status: 500,
        text: 'Authentication failed',
        internalReason: `Authentication failed: ${errorLabel(error)}`,
      }
    }
  }
