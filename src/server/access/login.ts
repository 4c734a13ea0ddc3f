import * as REASON from '../../core/mqtt5/reason-codes.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'

/** Reasons to reject a login, with their CONNACK reason codes (MQTT 5.0, section 3.2.2.2). */
export const LOGIN_REFUSAL = {
  /** The client must not use this client id. */
  'client-id': REASON.clientIdentifierNotValid,
  /** Wrong user name, password or token. */
  credentials: REASON.badUserNameOrPassword,
  'not-authorized': REASON.notAuthorized,
  /** The client cannot be authenticated right now and may retry later. */
  unavailable: REASON.serverUnavailable,
  banned: REASON.banned,
  /** Unknown method of enhanced authentication. */
  method: REASON.badAuthenticationMethod,
  /** Too many attempts from the client's address. */
  rate: REASON.connectionRateExceeded,
  /** Too many attempts in total; the client may retry later. */
  busy: REASON.serverBusy,
} as const

/** Key of {@link LOGIN_REFUSAL}. */
export type LoginRefusal = keyof typeof LOGIN_REFUSAL

/** Credentials of a client that connects, or reauthenticates with AUTH. */
export interface LoginRequest {
  /** Requested by the client, or generated if it requested none. */
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Uint8Array | undefined
  /** Method of enhanced authentication (MQTT 5.0, section 4.12), such as `K8S-SAT`. */
  readonly method: string | undefined
  readonly data: Uint8Array | undefined
  /** State returned by the previous step of enhanced authentication; `undefined` in the first step. */
  readonly state: unknown
  readonly certificate: ClientCertificate | undefined
  readonly remoteAddress: string | undefined
  readonly listener: 'mqtt' | 'mqtts' | 'ws' | 'wss'
  /** Aborted when the client disconnects before the result is known. Always set by a store. */
  readonly signal?: AbortSignal | undefined
}

/** Result of {@link Authenticate}. */
export type LoginResult =
  /** `data` completes enhanced authentication. */
  | { readonly principal: Principal; readonly data?: Uint8Array | undefined }
  /** `reason` is sent to the client. */
  | { readonly refused: LoginRefusal; readonly reason: string }
  /** Continues enhanced authentication: `challenge` is sent to the client, `state` is passed to the next step. */
  | { readonly challenge: Uint8Array; readonly state: unknown }

/**
 * Classifies the proof in a request. `verifiable`: signed, such as a token or certificate, or a secret too long to
 * guess. `guessable`: open to brute force, such as a password. `undefined`: the request contains no proof.
 */
export type ProofOf = (request: LoginRequest) => 'verifiable' | 'guessable' | undefined

/**
 * Authenticates a client. A function that throws or rejects denies the login: the error is reported on `faults$` only,
 * the audit log gets its name and code, and the client sees neither.
 */
export interface Authenticate {
  (request: LoginRequest): LoginResult | Promise<LoginResult>
  /**
   * Classifies requests. Those with a `verifiable` proof are not delayed by failed logins from the same address, and
   * their failures are not counted. Default: all requests are `guessable`. Must not throw.
   */
  readonly proofOf?: ProofOf | undefined
}

/** One authentication method. Returns `undefined` if the request has no credentials for it. */
export interface Method {
  (request: LoginRequest): LoginResult | undefined | Promise<LoginResult | undefined>
  /** Returns `undefined` whenever the method does. Default: all requests are `guessable`. */
  readonly proofOf?: ProofOf | undefined
}

/**
 * Combines methods: the first one that applies to the request decides. Requests without credentials are rejected.
 *
 * @example
 * ```ts
 * const authenticate = firstOf([certificates(), passwords.method])
 * ```
 */
export const firstOf = (methods: readonly Method[]): Authenticate =>
  Object.assign(
    async (request: LoginRequest): Promise<LoginResult> => {
      for (const method of methods) {
        const result = await method(request)
        if (result !== undefined) return result
      }
      return request.method === undefined
        ? { refused: 'not-authorized', reason: 'none of the accepted credentials were given' }
        : { refused: 'method', reason: 'unknown authentication method' }
    },
    {
      proofOf: (request: LoginRequest) => {
        for (const { proofOf } of methods) {
          const proof = proofOf === undefined ? 'guessable' : proofOf(request)
          if (proof !== undefined) return proof
        }
        return undefined
      },
    },
  )

/** An authenticated identity. */
export interface Principal {
  /** Matched by `usernames` in a policy. Without one, only attributes and client ids grant rights. */
  readonly username?: string | undefined
  /** Matched by `attributes` in a policy. Default: none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** Unique identity that owns MQTT sessions. Default: the user name; with attributes, one of the two is required. */
  readonly id?: string | undefined
  /** When the client must reauthenticate or is disconnected, ms since the Unix epoch. Default: never. */
  readonly expiresAt?: number | undefined
}

export const ANONYMOUS: Principal = {}

/** Returns the owner of a principal's sessions, which all anonymous clients share. */
export const sessionOwnerId = ({ id, username }: Principal): string =>
  (id ?? username) === undefined ? '' : `is ${id ?? username}`

export function checkPrincipal(principal: unknown): asserts principal is Principal {
  if (typeof principal !== 'object' || principal === null) throw invalidPrincipal('principal', 'an object', principal)
  const { username, attributes, id, expiresAt }: { [K in keyof Principal]?: unknown } = principal
  for (const [name, value] of Object.entries({ username, id })) {
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw invalidPrincipal(name, 'a non-empty string', value)
  }
  if (expiresAt !== undefined && !Number.isFinite(expiresAt))
    throw invalidPrincipal('expiresAt', 'a number of ms', expiresAt)
  if (attributes === undefined) return
  if (username === undefined && id === undefined)
    throw new ArgumentError(
      'Expected a principal with attributes to have a `username` or an `id`, which owns its sessions',
    )
  if (typeof attributes !== 'object' || attributes === null)
    throw invalidPrincipal('attributes', 'an object of strings', attributes)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value !== 'string') throw invalidPrincipal(`attributes.${name}`, 'a string', value)
  }
}

const invalidPrincipal = (name: string, expected: string, value: unknown): ArgumentError =>
  new ArgumentError(
    `Expected \`${name}\` of a principal to be ${expected}, got \`${formatValue(value)}\` (${typeof value})`,
  )

/** Sorted parts of a subject, such as `['CN=panel', 'O=contoso']`. */
export type SubjectName = readonly string[]

/** Certificate that a client presented in the TLS handshake. */
export interface ClientCertificate {
  /** Whether the chain ends at a trusted authority. */
  readonly trusted: boolean
  /** Subjects of the chain, the client's own first. */
  readonly subjects: readonly SubjectName[]
  /** Common names (CN) of the client; normally one. */
  readonly commonNames: readonly string[]
  /** SHA-256, hexadecimal with colons. */
  readonly fingerprint: string
  /** ms since the Unix epoch */
  readonly validTo: number
}
