import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../clock.js'
import { ArgumentError, PayloadError, reason } from '../../errors.js'
import type { Handshake, Refusal } from './handshake.js'
import { type Identity, identityProblem } from './identity.js'
import { ALL_ROLES } from './permissions.js'
import { AccessTokens } from './tokens.js'

/** What there is to know of a client that wants to connect. */
export interface ConnectRequest {
  /** Name of the hub, in lower case. */
  readonly hub: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** From the URL or the `Authorization` header. Not checked. */
  readonly accessToken: string | undefined
}

/**
 * Who may connect. `{ key }`: whoever has an access token signed with it. `'anonymous'`: everybody, to do everything,
 * for development. A function: whoever it has an identity for.
 */
export type Authenticate =
  | 'anonymous'
  | { readonly key: string | Uint8Array }
  | ((request: ConnectRequest) => Identity | false | Promise<Identity | false>)

/** Finds out who a client is; never rejects. */
export type Authenticator = (handshake: Handshake, headers: IncomingHttpHeaders) => Promise<Identity | Refusal>

/**
 * @param tokens - for `{ key }`
 * @param path - the beginning of the path in the audience of access tokens
 */
export function authenticatorOf(
  authenticate: Exclude<Authenticate, { key: unknown }> | AccessTokens,
  path: string,
  clock: Clock,
): Authenticator {
  if (authenticate === 'anonymous') return async () => ({ roles: ALL_ROLES })
  if (authenticate instanceof AccessTokens) return byToken(authenticate, path, clock)
  return byCallback(authenticate)
}

/** Throws {@link ArgumentError} for anything but the three ways. */
export function checkAuthenticate(authenticate: Authenticate): void {
  if (authenticate === 'anonymous' || typeof authenticate === 'function') return
  if (typeof authenticate === 'object' && authenticate !== null && 'key' in authenticate) return
  throw new ArgumentError("Expected `authenticate` to be { key }, 'anonymous' or a function")
}

const byToken =
  (tokens: AccessTokens, path: string, clock: Clock): Authenticator =>
  async ({ hub, accessToken }) => {
    if (accessToken === undefined) return { status: 401, text: 'An access token is needed' }
    try {
      return await tokens.verify(accessToken, `${path}/hubs/${hub}`.toLowerCase(), clock.now())
    } catch (error) {
      return { status: 401, text: `The access token does not do: ${reason(error)}` }
    }
  }

const byCallback =
  (callback: Extract<Authenticate, (...args: never[]) => unknown>): Authenticator =>
  async ({ hub, query, accessToken }, headers) => {
    try {
      const identity = await callback({ hub, query, headers, accessToken })
      if (identity === false) return { status: 401, text: 'The connection is refused' }
      const problem = identityProblem(identity)
      if (problem !== undefined) throw new PayloadError(problem)
      return identity
    } catch (error) {
      return { status: 500, text: `Nobody could be authenticated: ${reason(error)}` }
    }
  }
