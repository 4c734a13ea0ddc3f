import type { Subscription } from 'rxjs'
import type { StateStore } from '../../client/connect/client.js'
import { bytes } from '../../client/keys/codec.js'
import type { Done, InboundMessage, MqttSession } from '../../client/session/session.js'
import { SubscribeRetry } from '../../client/session/subscribe-retry.js'
import type { Publish } from '../../core/mqtt5/packets.js'
import { notAuthorized } from '../../core/mqtt5/reason-codes.js'
import { encodeCommand } from '../../core/protocol/commands.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC, responseTopic } from '../../core/protocol/topics.js'
import { randomBytes, toHex, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ClosedError, RequestRejectedError, StateStoreError } from '../../core/util/errors.js'

const PROBE_KEY = 'rx-statestore/sentry'
const REQUEST_TIMEOUT_MS = 500
const PROBE_INTERVAL_MS = 1_000
/**
 * The number of consecutive timeouts after which the probe concludes that no service is active. `unknown`: no service
 * was found before. `known`: a service was active before.
 */
const MAX_TIMEOUTS = { unknown: 3, known: 4 }

/**
 * The time for which a former active service has priority over a standby that does not have its keys, counted from the
 * first probe that finds no service at a reachable broker.
 */
export const FORMER_ACTIVE_PRIORITY_MS = 15_000

interface ServiceProbeEvents {
  onServed(): void
  /**
   * Returns whether to give the former active service time to return.
   *
   * @param wasInterrupted - whether the connection to the broker was lost since a service answered
   */
  hasToWait(wasInterrupted: boolean): boolean
  onFree(): void
  /** Called when the broker is unreachable. The probe continues. */
  onDisconnected(cause: StateStoreError): void
  /** Called when the probe is not permitted or not possible. */
  onFailed(cause: StateStoreError): void
}

/**
 * Detects another active service by sending requests as an ordinary client. If no service subscribes, the broker
 * reports that immediately. A service that subscribes but does not answer is detected after a few seconds.
 */
export class ServiceProbe {
  readonly #store: StateStore
  readonly #clock: Clock
  readonly #events: ServiceProbeEvents
  #timeouts = 0
  #wasInterrupted = false
  /** The time when no service was found first, in monotonic ms. */
  #freeSince: number | undefined
  #maxTimeouts: number
  readonly #status: Subscription
  #request: Subscription | undefined
  #cancel: () => void = () => undefined

  /** @param isKnown - whether another store was active a moment ago and may need time to answer */
  constructor(store: StateStore, clock: Clock, events: ServiceProbeEvents, isKnown = false) {
    this.#maxTimeouts = isKnown ? MAX_TIMEOUTS.known : MAX_TIMEOUTS.unknown
    this.#store = store
    this.#clock = clock
    this.#events = events
    this.#status = store.status$.subscribe(status => {
      if (status.state !== 'reconnecting') return
      this.#wasInterrupted = true
      this.#freeSince = undefined
      events.onDisconnected(status.cause)
    })
    this.#probe()
  }

  async stop(): Promise<void> {
    this.#cancel()
    this.#status.unsubscribe()
    this.#request?.unsubscribe()
    await this.#store.close()
  }

  #probe(): void {
    this.#request = this.#store
      .key(PROBE_KEY, bytes)
      .get({ timeout: REQUEST_TIMEOUT_MS })
      .subscribe({
        next: () => this.#onServed(),
        error: error => this.#onError(error),
      })
  }

  #onServed(): void {
    this.#timeouts = 0
    this.#wasInterrupted = false
    this.#freeSince = undefined
    this.#maxTimeouts = MAX_TIMEOUTS.known
    this.#events.onServed()
    this.#cancel = this.#clock.schedule(PROBE_INTERVAL_MS, () => this.#probe())
  }

  #onError(error: unknown): void {
    if (!(error instanceof StateStoreError)) throw error
    if (error.code === 'no-store') this.#onFree()
    else if (error.code === 'timeout') this.#onTimeout(error)
    else if (error instanceof ClosedError)
      this.#events.onFailed(error.cause instanceof StateStoreError ? error.cause : error)
    else if (error instanceof RequestRejectedError && error.status === notAuthorized) this.#events.onFailed(error)
    // Any other error is an answer from a store.
    else this.#onServed()
  }

  #onTimeout({ cause }: StateStoreError): void {
    // Timeouts without a connection do not count.
    if (cause === undefined) this.#timeouts++
    if (this.#timeouts >= this.#maxTimeouts) this.#onFree()
    else this.#probe()
  }

  #onFree(): void {
    const now = this.#clock.monotonic()
    this.#freeSince ??= now
    const remainingMs = this.#freeSince + FORMER_ACTIVE_PRIORITY_MS - now
    if (remainingMs <= 0 || !this.#events.hasToWait(this.#wasInterrupted)) this.#events.onFree()
    else this.#cancel = this.#clock.schedule(Math.min(remainingMs, PROBE_INTERVAL_MS), () => this.#probe())
  }
}

const RIVAL_KEY = utf8('rx-statestore/rival')
/** The time that another store may take to answer, and the minimum interval between probes. */
const RIVAL_TIMEOUT_MS = 1_000

interface RivalProbeEvents {
  /** Called when another store answers requests, or when the probe is not permitted. */
  onFound(): void
  /** Called when no other store answered, which means that the announcement was forged or late. */
  onAlone(): void
}

/**
 * Sends a request to check whether another store serves through the same broker, because any client that can publish to
 * the announcement topic can forge an announcement. Both stores get the request, and the probe recognises the other
 * store by the instance id in its response.
 */
export class RivalProbe {
  readonly #filter: string
  readonly #clock: Clock
  readonly #subscribeRetry: SubscribeRetry
  readonly #publish: (message: Publish, done: Done) => void
  readonly #isOwnInstance: (instanceId: string) => boolean
  readonly #events: RivalProbeEvents
  #requestId: string | undefined
  #cancel: () => void = () => undefined

  constructor(
    session: Pick<MqttSession, 'clientId' | 'subscribe'>,
    clock: Clock,
    publish: (message: Publish, done: Done) => void,
    isOwnInstance: (instanceId: string) => boolean,
    events: RivalProbeEvents,
  ) {
    this.#filter = responseTopic(session.clientId)
    this.#clock = clock
    this.#subscribeRetry = new SubscribeRetry(session, clock)
    this.#publish = publish
    this.#isOwnInstance = isOwnInstance
    this.#events = events
  }

  start(): void {
    if (this.#requestId !== undefined) return
    const id = randomBytes(16)
    this.#requestId = toHex(id)
    this.#cancel = this.#clock.schedule(RIVAL_TIMEOUT_MS, () => this.#finish(() => this.#events.onAlone()))
    const refused = (): void => this.#finish(() => this.#events.onFound())
    this.#subscribeRetry.subscribe(undefined, [
      { filter: this.#filter, granted: () => this.#publishRequest(id), refused },
    ])
  }

  handle({ topic, correlationData, userProperties }: InboundMessage): boolean {
    const isRequest = topic === INVOKE_TOPIC
    if (!isRequest && topic !== this.#filter) return false
    const isOurs = correlationData !== undefined && toHex(correlationData) === this.#requestId
    // The service also receives its own request, and does not respond to it.
    if (isRequest) return isOurs
    const instanceId = userProperties[PROPERTY.instance]
    if (isOurs && typeof instanceId === 'string' && !this.#isOwnInstance(instanceId))
      this.#finish(() => this.#events.onFound())
    return true
  }

  stop(): void {
    this.#cancel()
    this.#subscribeRetry.cancel()
    this.#requestId = undefined
  }

  #publishRequest(correlationData: Uint8Array): void {
    const userProperties = { [PROPERTY.protocolVersion]: PROTOCOL_VERSION }
    const payload = encodeCommand({ verb: 'GET', key: RIVAL_KEY })
    const message = { topic: INVOKE_TOPIC, responseTopic: this.#filter, correlationData, userProperties, payload }
    this.#publish({ ...message, contentType: CONTENT_TYPE, messageExpiry: RIVAL_TIMEOUT_MS / 1_000 }, () => undefined)
  }

  #finish(notify: () => void): void {
    this.stop()
    notify()
  }
}
