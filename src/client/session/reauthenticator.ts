import { MqttWriter, sizeOfVarint } from '../../core/mqtt5/data-types.js'
import * as PACKET from '../../core/mqtt5/packet-types.js'
import * as PROPERTY from '../../core/mqtt5/properties.js'
import { reAuthenticate } from '../../core/mqtt5/reason-codes.js'
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

/** The size of an AUTH packet with a usual token, bytes. Larger packets grow. */
const USUAL_BYTES = 2_048

/**
 * Encodes an AUTH packet that reauthenticates (MQTT 5.0, sections 3.15 and 4.12.1). Throws {@link ArgumentError} for a
 * method or data of more than 65,535 bytes.
 */
export function encodeReauthentication(method: string, data: Uint8Array): Uint8Array {
  const properties = new MqttWriter(USUAL_BYTES)
  properties.byte(PROPERTY.authenticationMethod)
  properties.text(method)
  properties.byte(PROPERTY.authenticationData)
  properties.binary(data)
  const packet = new MqttWriter(USUAL_BYTES)
  packet.byte(PACKET.auth << 4)
  packet.varint(1 + sizeOfVarint(properties.at) + properties.at)
  packet.byte(reAuthenticate)
  packet.varint(properties.at)
  packet.raw(properties.bytes.subarray(0, properties.at))
  return packet.bytes.subarray(0, packet.at)
}
