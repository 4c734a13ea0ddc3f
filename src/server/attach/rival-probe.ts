import { Granting } from '../../client/session/granting.js'
import type { Done, InboundMessage, MqttSession } from '../../client/session/session.js'
import type { Publish } from '../../core/mqtt5/publish.js'
import { encodeCommand } from '../../core/protocol/commands.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC, responseTopic } from '../../core/protocol/topics.js'
import { toHex, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { randomBytes } from '../../core/util/random.js'

/** Asked for; no matter whether there is such a key. */
const KEY = utf8('rx-statestore/rival')
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
  readonly #granting: Granting
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
    this.#granting = new Granting(session, clock)
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
    this.#granting.ask(undefined, [{ filter: this.#filter, granted: () => this.#ask(id), refused }])
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
    this.#granting.cancel()
    this.#id = undefined
  }

  #ask(correlationData: Uint8Array): void {
    const userProperties = { [PROPERTY.protocolVersion]: PROTOCOL_VERSION }
    const payload = encodeCommand({ verb: 'GET', key: KEY })
    const message = { topic: INVOKE_TOPIC, responseTopic: this.#filter, correlationData, userProperties, payload }
    this.#publish({ ...message, contentType: CONTENT_TYPE, messageExpiry: TIMEOUT_MS / 1_000 }, () => undefined)
  }

  #end(tell: () => void): void {
    this.stop()
    tell()
  }
}
