import type { Subscription } from 'rxjs'
import type { StateStore } from '../../client/connect/client.js'
import { bytes } from '../../client/keys/codec.js'
import type { Done, InboundMessage, MqttSession } from '../../client/session/session.js'
import { SubscribeRetry } from '../../client/session/subscribe-retry.js'
import type { Publish } from '../../core/mqtt5/packets.js'
import { encodeCommand } from '../../core/protocol/commands.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC, responseTopic } from '../../core/protocol/topics.js'
import { randomBytes, toHex, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ClosedError, RequestRejectedError, StateStoreError } from '../../core/util/errors.js'

/** Asked for; no matter whether there is such a key. */
const PROBE_KEY = 'rx-statestore/sentry'
/** ms a store has to answer, and until it is asked again. */
const TIMEOUT = 500
const PAUSE = 1_000
/** So many answers are missing before a store that was never heard, or one that was, counts as gone. */
const SILENCES = { never: 3, heard: 4 }
/** MQTT 5.0, section 2.4. */
const NOT_AUTHORIZED = 135

/** What it tells. */
interface ServiceProbeEvents {
  /** Another store serves at this broker. */
  served(): void
  /** None does. */
  free(): void
  /** The broker cannot be reached; it is tried again. */
  away(cause: StateStoreError): void
  /** It cannot be found out. */
  failed(cause: StateStoreError): void
}

/**
 * Looks, as a client among others, whether a store serves at a broker: asks it again and again. The broker says at once that
 * nobody listens; of one that listens and does not answer it takes a few seconds to be sure.
 */
export class ServiceProbe {
  readonly #store: StateStore
  readonly #clock: Clock
  readonly #events: ServiceProbeEvents
  #silences = 0
  #most: number
  readonly #status: Subscription
  #request: Subscription | undefined
  #cancel: () => void = () => undefined

  /** @param isKnown - whether there was another store just now, which may need a moment to answer */
  constructor(store: StateStore, clock: Clock, events: ServiceProbeEvents, isKnown = false) {
    this.#most = isKnown ? SILENCES.heard : SILENCES.never
    this.#store = store
    this.#clock = clock
    this.#events = events
    this.#status = store.status$.subscribe(status => {
      if (status.state === 'reconnecting') events.away(status.cause)
    })
    this.#ask()
  }

  /** Looks no more. */
  async stop(): Promise<void> {
    this.#cancel()
    this.#status.unsubscribe()
    this.#request?.unsubscribe()
    await this.#store.close()
  }

  #ask(): void {
    this.#request = this.#store
      .key(PROBE_KEY, bytes)
      .get({ timeout: TIMEOUT })
      .subscribe({
        next: () => this.#served(),
        error: error => this.#failed(error),
      })
  }

  #served(): void {
    this.#silences = 0
    this.#most = SILENCES.heard
    this.#events.served()
    this.#cancel = this.#clock.schedule(PAUSE, () => this.#ask())
  }

  #failed(error: unknown): void {
    if (!(error instanceof StateStoreError)) throw error
    if (error.code === 'no-store') this.#events.free()
    else if (error.code === 'timeout') this.#silent(error)
    else if (error instanceof ClosedError)
      this.#events.failed(error.cause instanceof StateStoreError ? error.cause : error)
    else if (error instanceof RequestRejectedError && error.status === NOT_AUTHORIZED) this.#events.failed(error)
    // Whatever it says, somebody said it.
    else this.#served()
  }

  #silent({ cause }: StateStoreError): void {
    // Without a connection nobody could be heard.
    if (cause === undefined) this.#silences++
    if (this.#silences >= this.#most) this.#events.free()
    else this.#ask()
  }
}

/** Asked for; no matter whether there is such a key. */
const RIVAL_KEY = utf8('rx-statestore/rival')
/** How long another store may take to answer, ms; the next look begins no earlier either. */
const TIMEOUT_MS = 1_000

/** What became of a look. */
interface RivalProbeEvents {
  /** Another store answers requests, or that cannot be found out. */
  found(): void
  /** None does: what was said was forged, or late. */
  alone(): void
}

/**
 * Finds out by a request whether another store serves at the broker, as anybody may say so who can publish on the topic of
 * lives. The request reaches both stores; the answer of the other one names its life.
 */
export class RivalProbe {
  readonly #filter: string
  readonly #clock: Clock
  readonly #subscribeRetry: SubscribeRetry
  readonly #publish: (message: Publish, done: Done) => void
  readonly #isOwnLife: (life: string) => boolean
  readonly #events: RivalProbeEvents
  /** Of the request that is under way, Base16. */
  #id: string | undefined
  #cancel: () => void = () => undefined

  constructor(
    session: Pick<MqttSession, 'clientId' | 'subscribe'>,
    clock: Clock,
    publish: (message: Publish, done: Done) => void,
    isOwnLife: (life: string) => boolean,
    events: RivalProbeEvents,
  ) {
    this.#filter = responseTopic(session.clientId)
    this.#clock = clock
    this.#subscribeRetry = new SubscribeRetry(session, clock)
    this.#publish = publish
    this.#isOwnLife = isOwnLife
    this.#events = events
  }

  /** Asks, unless it is asking. */
  look(): void {
    if (this.#id !== undefined) return
    const id = randomBytes(16)
    this.#id = toHex(id)
    this.#cancel = this.#clock.schedule(TIMEOUT_MS, () => this.#end(() => this.#events.alone()))
    const refused = (): void => this.#end(() => this.#events.found())
    this.#subscribeRetry.subscribe(undefined, [{ filter: this.#filter, granted: () => this.#ask(id), refused }])
  }

  /** Takes a message that belongs to a look; returns whether it did. */
  take({ topic, correlationData, userProperties }: InboundMessage): boolean {
    const isRequest = topic === INVOKE_TOPIC
    if (!isRequest && topic !== this.#filter) return false
    const isOurs = correlationData !== undefined && toHex(correlationData) === this.#id
    // It came back: what we would answer is known.
    if (isRequest) return isOurs
    const life = userProperties[PROPERTY.life]
    if (isOurs && typeof life === 'string' && !this.#isOwnLife(life)) this.#end(() => this.#events.found())
    return true
  }

  /** The connection is gone, or nobody needs to know. */
  stop(): void {
    this.#cancel()
    this.#subscribeRetry.cancel()
    this.#id = undefined
  }

  #ask(correlationData: Uint8Array): void {
    const userProperties = { [PROPERTY.protocolVersion]: PROTOCOL_VERSION }
    const payload = encodeCommand({ verb: 'GET', key: RIVAL_KEY })
    const message = { topic: INVOKE_TOPIC, responseTopic: this.#filter, correlationData, userProperties, payload }
    this.#publish({ ...message, contentType: CONTENT_TYPE, messageExpiry: TIMEOUT_MS / 1_000 }, () => undefined)
  }

  #end(tell: () => void): void {
    this.stop()
    tell()
  }
}
