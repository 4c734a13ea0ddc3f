import { concatBytes, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { Authentication, Credentials } from './mqttjs-options.js'

/** Of the time that is left, so much passes until fresh credentials are looked for: Kubernetes renews tokens by then. */
const PATIENCE = 0.8
/** ms */
const SHORTEST_WAIT = 1_000
const LONGEST_WAIT = 86_400_000

/**
 * Proves anew who a client is before its credentials expire, by AUTH, so that its connection goes on. When there are no
 * fresh ones in time, the broker ends the connection, and it comes back with what there is by then.
 */
export class Reauthenticator {
  readonly #credentials: () => Credentials | Promise<Credentials>
  readonly #clock: Clock
  readonly #send: (packet: Uint8Array) => void
  #cancel: () => void = () => undefined

  constructor(credentials: () => Credentials | Promise<Credentials>, clock: Clock, send: (packet: Uint8Array) => void) {
    this.#credentials = credentials
    this.#clock = clock
    this.#send = send
  }

  /** A connection was made with this, if with anything. */
  connected(authentication: Authentication | undefined): void {
    this.stop()
    const expiresAt = authentication?.expiresAt
    if (authentication === undefined || expiresAt === undefined) return
    const left = expiresAt - this.#clock.now()
    if (left <= 0) return
    const wait = Math.min(Math.max(PATIENCE * left, SHORTEST_WAIT), LONGEST_WAIT)
    this.#cancel = this.#clock.schedule(wait, () => this.#renew(authentication, expiresAt))
  }

  /** The connection is gone. */
  stop(): void {
    this.#cancel()
  }

  #renew(current: Authentication, expiresAt: number): void {
    let cancelled = false
    this.#cancel = () => {
      cancelled = true
    }
    const goOn = (fresh: Authentication | undefined): void => {
      if (cancelled) return
      const isNewer = fresh?.method === current.method && (fresh.expiresAt ?? Number.POSITIVE_INFINITY) > expiresAt
      if (isNewer) this.#send(reauthenticationOf(fresh.method, fresh.data))
      this.connected(isNewer ? fresh : current)
    }
    // Failing, they are looked for again later, as if there were no fresh ones.
    Promise.resolve()
      .then(this.#credentials)
      .then(
        ({ authentication }) => goOn(authentication),
        () => goOn(undefined),
      )
  }
}

const AUTH = 0xf0
/** MQTT 5.0, section 3.15.2.1 */
const REAUTHENTICATE = 0x19
const METHOD = 0x15
const DATA = 0x16

/** An AUTH packet by which a client proves anew who it is (MQTT 5.0, section 4.12.1). */
export function reauthenticationOf(method: string, data: Uint8Array): Uint8Array {
  const properties = concatBytes([field(METHOD, utf8(method)), field(DATA, data)])
  const content = concatBytes([Uint8Array.of(REAUTHENTICATE, ...varint(properties.length)), properties])
  return concatBytes([Uint8Array.of(AUTH, ...varint(content.length)), content])
}

const field = (identifier: number, bytes: Uint8Array): Uint8Array =>
  concatBytes([Uint8Array.of(identifier, bytes.length >> 8, bytes.length & 0xff), bytes])

/** MQTT 5.0, section 1.5.5 */
const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)])
