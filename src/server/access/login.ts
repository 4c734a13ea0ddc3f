import * as REASON from '../../core/mqtt5/reason-codes.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'

/** The reasons to reject a login, with their CONNACK reason codes (MQTT 5.0, section 3.2.2.2). */
export const LOGIN_REFUSAL = {
  /** The client is not permitted to use this client id. */
  'client-id': REASON.clientIdentifierNotValid,
  /** The user name, password or token is wrong. */
  credentials: REASON.badUserNameOrPassword,
  'not-authorized': REASON.notAuthorized,
  /** The client cannot be authenticated right now and may retry later. */
  unavailable: REASON.serverUnavailable,
  banned: REASON.banned,
  /** The method of enhanced authentication is unknown. */
  method: REASON.badAuthenticationMethod,
  /** There were too many attempts from the client's address. */
  rate: REASON.connectionRateExceeded,
  /** There were too many attempts in total, and the client may retry later. */
  busy: REASON.serverBusy,
} as const

/** A key of {@link LOGIN_REFUSAL}. */
export type LoginRefusal = keyof typeof LOGIN_REFUSAL

/** The credentials of a client that connects, or that reauthenticates with AUTH. */
export interface LoginRequest {
  /** The id that the client requested, or a generated id. */
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Uint8Array | undefined
  /** The method of enhanced authentication (MQTT 5.0, section 4.12), such as `K8S-SAT`. */
  readonly method: string | undefined
  readonly data: Uint8Array | undefined
  /** The state returned by the previous step of enhanced authentication, or `undefined` in the first step. */
  readonly state: unknown
  readonly certificate: ClientCertificate | undefined
  readonly remoteAddress: string | undefined
  readonly listener: 'mqtt' | 'mqtts' | 'ws' | 'wss'
  /** Aborted when the client disconnects before the result is known. A state store always sets this signal. */
  readonly signal?: AbortSignal | undefined
}

/** The outcome of a login: accepted, another step of enhanced authentication, or refused. */
export type LoginResult =
  /** `data` completes enhanced authentication. */
  | { readonly principal: Principal; readonly data?: Uint8Array | undefined }
  /** `reason` is sent to the client. */
  | { readonly refused: LoginRefusal; readonly reason: string }
  /** Continues enhanced authentication: `challenge` is sent to the client, and `state` is passed to the next step. */
  | { readonly challenge: Uint8Array; readonly state: unknown }

/**
 * Classifies the proof in a request. `verifiable`: the proof is signed, such as a token or certificate, or a secret
 * that is too long to guess. `guessable`: the proof is open to brute force, such as a password. `undefined`: the
 * request contains no proof.
 */
export type ProofOf = (request: LoginRequest) => 'verifiable' | 'guessable' | undefined

/**
 * Authenticates a client. If the function throws or rejects, the login is denied. The error is reported only on
 * `faults$`, the audit log gets its name and code, and the client gets neither.
 */
export interface Authenticate {
  (request: LoginRequest): LoginResult | Promise<LoginResult>
  /**
   * Classifies requests. Requests with a `verifiable` proof are not delayed by failed logins from the same address, and
   * their failures are not counted. Default: all requests are `guessable`. This function must not throw.
   */
  readonly proofOf?: ProofOf | undefined
  /**
   * Returns why logins may fail although the credentials are valid, such as an outage of a server that knows the keys of
   * tokens. Health checks report it as a warning. It must not throw.
   */
  readonly problem?: (() => string | undefined) | undefined
}

/** One authentication method. A method returns `undefined` if the request has no credentials for it. */
export interface Method {
  (request: LoginRequest): LoginResult | undefined | Promise<LoginResult | undefined>
  /** Classifies requests, and returns `undefined` whenever the method does. Default: all requests are `guessable`. */
  readonly proofOf?: ProofOf | undefined
  /** Returns why logins by this method may fail, as for {@link Authenticate}. */
  readonly problem?: (() => string | undefined) | undefined
}

/**
 * Combines methods. The first method that applies to the request decides. Requests without credentials are rejected.
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
      problem: () => {
        const problems = methods.flatMap(({ problem }) => problem?.() ?? [])
        return problems.length > 0 ? problems.join('; ') : undefined
      },
    },
  )

/** An authenticated identity. */
export interface Principal {
  /** The name that `usernames` in a policy match. Without a user name, only attributes and client ids grant rights. */
  readonly username?: string | undefined
  /** The attributes that `attributes` in a policy match. Default: none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /**
   * The unique identity that owns MQTT sessions. Default: the user name. A principal with attributes requires an id or
   * a user name.
   */
  readonly id?: string | undefined
  /**
   * The time at which the client is disconnected unless it has reauthenticated, in ms since the Unix epoch. Default:
   * never.
   */
  readonly expiresAt?: number | undefined
}

export const ANONYMOUS: Principal = {}

/** Returns the id of the owner of a principal's sessions. All anonymous clients share one owner. */
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

/**
 * The sorted parts of a subject, such as `['CN=panel', 'O=contoso']`. A part with several values is written as
 * `CN=panel + O=contoso`. In values, `+` and `\\` are escaped with `\\`.
 */
export type SubjectName = readonly string[]

/** The certificate that a client presented in the TLS handshake. */
export interface ClientCertificate {
  /** Whether the chain ends at a trusted authority. */
  readonly trusted: boolean
  /**
   * The subjects of the chain, starting with the client's own. Each issuer has signed the certificate before it, and the
   * last one is a trusted authority. A certificate that is not trusted has only its own subject.
   */
  readonly subjects: readonly SubjectName[]
  /** The common names (CN) of the client. Most certificates have exactly one. */
  readonly commonNames: readonly string[]
  /** The SHA-256 digest in hexadecimal with colons. */
  readonly fingerprint: string
  /** The expiry time in ms since the Unix epoch. */
  readonly validTo: number
}
