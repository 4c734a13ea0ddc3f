import * as REASON from '../../core/mqtt5/reason-codes.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'

/** Why somebody is not let in, and what CONNACK says of it (MQTT 5.0, section 3.2.2.2). */
export const LOGIN_REFUSAL = {
  /** The client id is not for it. */
  'client-id': REASON.clientIdentifierNotValid,
  /** User name and password, or token, do not do. */
  credentials: REASON.badUserNameOrPassword,
  'not-authorized': REASON.notAuthorized,
  /** Who it is cannot be found out at the moment; it may try again later. */
  unavailable: REASON.serverUnavailable,
  banned: REASON.banned,
  /** There is no such method of enhanced authentication. */
  method: REASON.badAuthenticationMethod,
  /** Too many tried from its address. */
  rate: REASON.connectionRateExceeded,
  /** Too many try at the moment, from wherever; it may try again later. */
  busy: REASON.serverBusy,
} as const

/** A key of {@link LOGIN_REFUSAL}. */
export type LoginRefusal = keyof typeof LOGIN_REFUSAL

/** Somebody who wants to be let in, or, by AUTH, to stay. */
export interface LoginRequest {
  /** As the client wants to be called; made up if it had no wish. */
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Uint8Array | undefined
  /** Of enhanced authentication (MQTT 5.0, section 4.12), such as `K8S-SAT`. */
  readonly method: string | undefined
  readonly data: Uint8Array | undefined
  /** What the last step of enhanced authentication left; `undefined` in the first. */
  readonly state: unknown
  readonly certificate: ClientCertificate | undefined
  readonly remoteAddress: string | undefined
  readonly listener: 'mqtt' | 'mqtts' | 'ws' | 'wss'
  /** Aborted when the client goes before it is known what comes of it; a store always has one. */
  readonly signal?: AbortSignal | undefined
}

/** What came of a {@link LoginRequest}. */
export type LoginResult =
  /** `data` ends enhanced authentication. */
  | { readonly principal: Principal; readonly data?: Uint8Array | undefined }
  /** The reason is told to the client. */
  | { readonly refused: LoginRefusal; readonly reason: string }
  /** Enhanced authentication goes on: `challenge` is for the client, `state` comes back with its answer. */
  | { readonly challenge: Uint8Array; readonly state: unknown }

/**
 * What a request shows as a proof. `verifiable`: something signed, such as a token or a certificate, or a secret that is too
 * long to be guessed. `guessable`: something of which some try thousands, such as a password. `undefined`: nothing.
 */
export type ProofOf = (request: LoginRequest) => 'verifiable' | 'guessable' | undefined

/**
 * Finds out who somebody is. A function that throws or rejects lets nobody in: what it has thrown is told by `faults$` alone,
 * its name and code are on record as well, and the client hears of neither.
 */
export interface Authenticate {
  (request: LoginRequest): LoginResult | Promise<LoginResult>
  /**
   * Which requests are not kept waiting when others from their address have failed, and do not count when they fail: those
   * that show a `verifiable` proof. Without this function there are none. It must not throw.
   */
  readonly proofOf?: ProofOf | undefined
}

/** One way to prove who one is; `undefined` when nothing of that kind was shown. */
export interface Method {
  (request: LoginRequest): LoginResult | undefined | Promise<LoginResult | undefined>
  /** `undefined` for a request of which the method returns `undefined`; without this function all are `guessable`. */
  readonly proofOf?: ProofOf | undefined
}

/**
 * Asks one method after the other, until one has been shown what it is about; what that says counts. Who shows nothing is
 * refused.
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
        ? { refused: 'not-authorized', reason: 'no credentials that are asked for here' }
        : { refused: 'method', reason: 'there is no such authentication method' }
    },
    {
      // That of the method which decides.
      proofOf: (request: LoginRequest) => {
        for (const { proofOf } of methods) {
          const proof = proofOf === undefined ? 'guessable' : proofOf(request)
          if (proof !== undefined) return proof
        }
        return undefined
      },
    },
  )

/** Who a client is, once it has proved it. */
export interface Principal {
  /** What a policy calls `usernames`; without it only attributes and client ids can give rights. */
  readonly username?: string | undefined
  /** What a policy calls `attributes`; default none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** What tells it from everybody else: sessions belong to it. Default the user name; one with attributes needs either. */
  readonly id?: string | undefined
  /** When it has to prove itself anew, or its connection ends, ms since the Unix epoch. Default never. */
  readonly expiresAt?: number | undefined
}

/** Somebody who proved nothing. */
export const ANONYMOUS: Principal = {}

/** Whom sessions belong to; the same for all who proved nothing. */
export const sessionOwnerId = ({ id, username }: Principal): string =>
  (id ?? username) === undefined ? '' : `is ${id ?? username}`

/** Throws {@link ArgumentError} for what an `authenticate` function must not return. */
export function checkPrincipal(principal: unknown): asserts principal is Principal {
  if (typeof principal !== 'object' || principal === null) throw invalidPrincipal('principal', 'an object', principal)
  const { username, attributes, id, expiresAt }: { [K in keyof Principal]?: unknown } = principal
  for (const [name, value] of Object.entries({ username, id })) {
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw invalidPrincipal(name, 'a text', value)
  }
  if (expiresAt !== undefined && !Number.isFinite(expiresAt))
    throw invalidPrincipal('expiresAt', 'a number of ms', expiresAt)
  if (attributes === undefined) return
  if (username === undefined && id === undefined)
    throw new ArgumentError(
      'Expected a principal with attributes to have a `username` or an `id`: sessions belong to it',
    )
  if (typeof attributes !== 'object' || attributes === null)
    throw invalidPrincipal('attributes', 'an object of texts', attributes)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value !== 'string') throw invalidPrincipal(`attributes.${name}`, 'a text', value)
  }
}

const invalidPrincipal = (name: string, expected: string, value: unknown): ArgumentError =>
  new ArgumentError(
    `Expected \`${name}\` of a principal to be ${expected}, got \`${formatValue(value)}\` (${typeof value})`,
  )

/** Parts of a subject, such as `['CN=panel', 'O=contoso']`, in alphabetical order. */
export type SubjectName = readonly string[]

/** What a client shows of itself in TLS. */
export interface ClientCertificate {
  /** Whether its chain ends at one of the authorities we believe. */
  readonly trusted: boolean
  /** Of its certificate, then of those who issued it. */
  readonly subjects: readonly SubjectName[]
  /** Names of itself (CN); there should be one. */
  readonly commonNames: readonly string[]
  /** SHA-256, Base16 with colons. */
  readonly fingerprint: string
  /** ms since the Unix epoch */
  readonly validTo: number
}
