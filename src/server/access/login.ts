import * as REASON from '../../core/mqtt5/reason-codes.js'
import type { ClientCertificate } from './client-certificate.js'
import type { Principal } from './principal.js'

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
  | { readonly principal: Principal; readonly data?: Uint8Array }
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
  readonly proofOf?: ProofOf
}

/** One way to prove who one is; `undefined` when nothing of that kind was shown. */
export interface Method {
  (request: LoginRequest): LoginResult | undefined | Promise<LoginResult | undefined>
  /** `undefined` for a request of which the method returns `undefined`; without this function all are `guessable`. */
  readonly proofOf?: ProofOf
}

/**
 * Asks one method after the other, until one has been shown what it is about; what that says counts. Who shows nothing is
 * refused.
 *
 * @example
 * ```ts
 * const authenticate = inOrder([certificates(), passwords.method])
 * ```
 */
export const inOrder = (methods: readonly Method[]): Authenticate =>
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
