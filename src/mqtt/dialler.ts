import type { MqttClient } from 'mqtt'
import type { Clock } from '../base/clock.js'
import { ArgumentError, ConnectionLostError, reason, type StateStoreError, shown } from '../base/errors.js'
import { changeOptions, streamOf } from './mqttjs-insides.js'
import { type Authentication, type Credentials, withCredentials } from './mqttjs-options.js'
import type { ReconnectStrategy } from './reconnect.js'
import { Renewal } from './renewal.js'
import type { Retry } from './session.js'

/** How a connection of our own comes back. */
export interface Reconnecting {
  readonly strategy: ReconnectStrategy
  /** Asked before every attempt to connect; without it the credentials stay those of the options. */
  readonly credentials: (() => Credentials | Promise<Credentials>) | undefined
}

/** What it tells. */
interface DiallerEvents {
  waiting(cause: StateStoreError, retry: Retry): void
  gaveUp(cause: StateStoreError): void
}

/** A connection that held for so long starts the count of attempts anew, ms. */
const STABLE_AFTER = 5_000

/** So long a CONNECT may be under way, ms. */
const LATE_CONNECT = 60_000

/** Decides when to connect, and with which credentials. */
export class Dialler {
  readonly #client: MqttClient
  readonly #reconnecting: Reconnecting
  readonly #clock: Clock
  readonly #events: DiallerEvents
  readonly #renewal: Renewal | undefined
  /** With which the last attempt was made. */
  #authentication: Authentication | undefined
  #attempt = 0
  #connectedAt: number | undefined
  /** When an attempt was given up that got no answer. */
  #abandonedAt: number | undefined
  #waiting = false
  #cancel: () => void = () => undefined
  #dialled = false

  constructor(client: MqttClient, reconnecting: Reconnecting, clock: Clock, events: DiallerEvents) {
    this.#client = client
    this.#reconnecting = reconnecting
    this.#clock = clock
    this.#events = events
    const { credentials } = reconnecting
    this.#renewal = credentials && new Renewal(credentials, clock, packet => streamOf(client).write(packet))
  }

  /** Whether there was an attempt; mqtt.js cannot end what was never begun. */
  get dialled(): boolean {
    return this.#dialled
  }

  /** The first attempt. Throws what the options make mqtt.js throw. */
  start(): void {
    this.#waiting = false
    const { credentials } = this.#reconnecting
    if (credentials) this.#ask(credentials)
    else this.#dial()
  }

  connected(): void {
    this.#connectedAt = this.#clock.monotonic()
    this.#renewal?.connected(this.#authentication)
  }

  /**
   * Whether an attempt that was given up may have reached the broker after a later one, and taken our own session over.
   * The network may hold its CONNECT back for a while.
   */
  get mayHaveTakenOver(): boolean {
    return this.#abandonedAt !== undefined && this.#clock.monotonic() - this.#abandonedAt < LATE_CONNECT
  }

  /** The connection is gone, or was not made. */
  retry(cause: StateStoreError): void {
    const stable = this.#connectedAt !== undefined && this.#clock.monotonic() - this.#connectedAt >= STABLE_AFTER
    if (this.#dialled && this.#connectedAt === undefined) this.#abandonedAt = this.#clock.monotonic()
    this.#connectedAt = undefined
    this.#renewal?.stop()
    this.#attempt = stable ? 1 : this.#attempt + 1
    const delay = this.#delay(cause)
    if (typeof delay !== 'number') {
      this.#events.gaveUp(delay)
      return
    }
    this.#waiting = true
    this.#cancel = this.#clock.schedule(delay, () => this.#again())
    this.#events.waiting(cause, { attempt: this.#attempt, at: this.#clock.now() + delay })
  }

  /** Does not wait out the pause before the next attempt. */
  hurry(): void {
    if (!this.#waiting) return
    this.#cancel()
    this.#again()
  }

  cancel(): void {
    this.#waiting = false
    this.#renewal?.stop()
    this.#cancel()
  }

  // What mqtt.js throws then, for malformed credentials, would go unheard.
  #again(): void {
    try {
      this.start()
    } catch (cause) {
      this.retry(new ConnectionLostError(`Cannot connect: ${reason(cause)}`, { cause }))
    }
  }

  /** ms until the next attempt, or why there is none. */
  #delay(cause: StateStoreError): number | StateStoreError {
    try {
      const delay = this.#reconnecting.strategy(this.#attempt, cause)
      if (delay === false) return cause
      if (Number.isFinite(delay) && delay >= 0) return delay
      return new ArgumentError(`Expected the reconnect strategy to give ms or false, got \`${shown(delay)}\``)
    } catch (error) {
      return new ArgumentError(`The reconnect strategy failed: ${reason(error)}`, { cause: error })
    }
  }

  #ask(credentials: () => Credentials | Promise<Credentials>): void {
    let cancelled = false
    this.#cancel = () => {
      cancelled = true
    }
    const failed = (cause: unknown): void => {
      if (!cancelled) this.retry(new ConnectionLostError(`There are no credentials: ${reason(cause)}`, { cause }))
    }
    const connect = (fresh: Credentials): void => {
      if (cancelled) return
      this.#authentication = fresh.authentication
      changeOptions(this.#client, withCredentials(this.#client.options, fresh))
      this.#dial()
    }
    // A function that throws fails like one that rejects, and so do malformed credentials.
    Promise.resolve().then(credentials).then(connect).catch(failed)
  }

  #dial(): void {
    this.#client.reconnect()
    this.#dialled = true
  }
}
