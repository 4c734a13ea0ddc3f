import { reAuthenticate } from '../../core/mqtt5/reason-codes.js'
import { concatBytes, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { reason, StateStoreError } from '../../core/util/errors.js'
import { type CredentialsSource, requestCredentials } from './credentials-request.js'
import type { Authentication } from './mqttjs-options.js'

/**
 * Fraction of the remaining lifetime after which credentials are requested. Kubernetes has renewed its tokens by then.
 */
const RENEWAL_FRACTION = 0.8
const MIN_WAIT_MS = 1_000
const MAX_WAIT_MS = 86_400_000

interface ReauthenticatorHost {
  send(packet: Uint8Array): void
  /** Called for a failed renewal, which is retried while the credentials are valid. */
  failed(error: StateStoreError): void
}

/**
 * Reauthenticates a client by AUTH before its credentials expire, so that the connection continues. Without newer
 * credentials the broker ends the connection, and the reconnect requests them again.
 */
export class Reauthenticator {
  readonly #credentials: CredentialsSource
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #host: ReauthenticatorHost
  #cancel: () => void = () => undefined

  constructor(credentials: CredentialsSource, clock: Clock, timeoutMs: number, host: ReauthenticatorHost) {
    this.#credentials = credentials
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#host = host
  }

  /** @param isRetry - whether the last renewal did not return newer credentials */
  connected(authentication: Authentication | undefined, isRetry = false): void {
    this.stop()
    const expiresAt = authentication?.expiresAt
    if (authentication === undefined || expiresAt === undefined) return
    const remainingMs = expiresAt - this.#clock.now()
    // Excludes NaN as well, whose timer would fire in a loop.
    if (!(remainingMs > 0)) return
    const waitMs = Math.min(Math.max(RENEWAL_FRACTION * remainingMs, MIN_WAIT_MS), MAX_WAIT_MS)
    this.#cancel = this.#clock.schedule(waitMs, () => this.#renew(authentication, expiresAt, isRetry))
  }

  stop(): void {
    this.#cancel()
  }

  #renew(current: Authentication, expiresAt: number, isRetry: boolean): void {
    this.#cancel = requestCredentials(this.#credentials, this.#clock, this.#timeoutMs, {
      received: ({ authentication: fresh }) => {
        const isNewer = fresh?.method === current.method && (fresh.expiresAt ?? Number.POSITIVE_INFINITY) > expiresAt
        if (isNewer) this.#host.send(encodeReauthentication(fresh.method, fresh.data))
        // Kubernetes may renew its token a little later, and tokens that are valid for days are requested daily.
        else if (isRetry && expiresAt - this.#clock.now() < MAX_WAIT_MS)
          throw new Error('`credentials` returned no newer ones')
        this.connected(isNewer ? fresh : current, !isNewer)
      },
      failed: cause => {
        this.connected(current, true)
        const seconds = Math.round((expiresAt - this.#clock.now()) / 1_000)
        const message = `Cannot renew the credentials, which expire in ${seconds} s: ${reason(cause)}`
        this.#host.failed(new StateStoreError('credentials', message, { cause }))
      },
    })
  }
}

const AUTH = 0xf0
const METHOD = 0x15
const DATA = 0x16

/** Encodes an AUTH packet that reauthenticates (MQTT 5.0, sections 3.15 and 4.12.1). */
export function encodeReauthentication(method: string, data: Uint8Array): Uint8Array {
  const properties = concatBytes([encodeField(METHOD, utf8(method)), encodeField(DATA, data)])
  const content = concatBytes([Uint8Array.of(reAuthenticate, ...encodeVarint(properties.length)), properties])
  return concatBytes([Uint8Array.of(AUTH, ...encodeVarint(content.length)), content])
}

const encodeField = (identifier: number, bytes: Uint8Array): Uint8Array =>
  concatBytes([Uint8Array.of(identifier, bytes.length >> 8, bytes.length & 0xff), bytes])

/** Encodes a variable byte integer (MQTT 5.0, section 1.5.5). */
const encodeVarint = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...encodeVarint(value >> 7)]
