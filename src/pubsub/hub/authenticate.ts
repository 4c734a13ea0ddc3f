import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, errorLabel, PayloadError, reason } from '../../core/util/errors.js'
import type { Handshake, HandshakeRefusal } from './handshake.js'
import { type Identity, identityProblem } from './identity.js'
import { ALL_ROLES } from './permissions.js'
import { AccessTokens } from './tokens.js'

/** What is known of a client that wants to connect. */
export interface ConnectRequest {
  /** Name of the hub, in lower case. */
  readonly hub: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** From the URL or the `Authorization` header. Not checked. */
  readonly accessToken: string | undefined
}

/** Who a client is, or `false` for one that may not connect. */
export type Identify = (request: ConnectRequest) => Identity | false | Promise<Identity | false>

/**
 * Who may connect. `{ key }`: clients with an access token signed with it. `'anonymous'`: every client, and it may do
 * everything; for development. A function: clients for which it returns an identity; an address of which it refuses many has
 * to wait, as what it looks at may be guessed. `{ verify }`: the same for a function that looks at what cannot be guessed,
 * such as tokens that somebody else has signed; nobody has to wait for it.
 */
export type Authenticate =
  | 'anonymous'
  | { readonly key: string | Uint8Array }
  | { readonly verify: Identify }
  | Identify

/** Finds out who a client is; never rejects. */
export type Authenticator = (handshake: Handshake, headers: IncomingHttpHeaders) => Promise<Identity | HandshakeRefusal>

/**
 * @param tokens - for `{ key }`
 * @param path - the beginning of the path in the audience of access tokens
 * @param failed - is told what the application's function has thrown
 */
export function authenticatorOf(
  authenticate: Exclude<Authenticate, { key: unknown }> | AccessTokens,
  path: string,
  clock: Clock,
  failed: (error: unknown) => void,
): Authenticator {
  if (authenticate === 'anonymous') return async () => ({ roles: ALL_ROLES })
  if (authenticate instanceof AccessTokens) return byToken(authenticate, path, clock)
  return byCallback(typeof authenticate === 'function' ? authenticate : authenticate.verify, failed)
}

/** Whether clients may come in by what can be guessed. */
export const isGuessable = (authenticate: Authenticate): boolean => typeof authenticate === 'function'

/** Throws {@link ArgumentError} for anything but these four. */
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
      return { status: 401, text: `The access token is not accepted: ${reason(error)}` }
    }
  }

const byCallback =
  (callback: Identify, failed: (error: unknown) => void): Authenticator =>
  async ({ hub, query, accessToken }, headers) => {
    try {
      const identity = await callback({ hub, query, headers, accessToken })
      if (identity === false) return { status: 401, text: 'The connection is refused' }
      const problem = identityProblem(identity)
      if (problem !== undefined) throw new PayloadError(problem)
      return identity
    } catch (error) {
      failed(error)
      return { status: 500, text: 'Authentication failed', trouble: `Authentication failed: ${errorLabel(error)}` }
    }
  }
