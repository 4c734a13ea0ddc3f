import { utf8 } from '../../../core/util/bytes.js'
import type { Clock } from '../../../core/util/clock.js'
import type { Traffic } from '../limits/traffic.js'
import type { Message } from '../routing/delivery.js'
import { matchesFilter } from '../routing/filter-trie.js'

export interface SysTopicsOptions {
  /** The time between two publications, ms. */
  readonly intervalMs: number
  /** The value of `$SYS/broker/version`. */
  readonly version: string
  /** Returns the memory that the process uses. */
  heapBytes(): number
}

/** A broker's gauges. */
export interface BrokerGauges {
  readonly connections: number
  readonly sessions: number
  /** All subscriptions, including shared ones. */
  readonly subscriptions: number
  readonly sharedSubscriptions: number
  readonly retained: number
  /** Retained and queued messages, and their memory. */
  readonly storedMessages: number
  readonly storedBytes: number
}

export interface SysTopicsHost {
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>
  readonly traffic: Traffic
  gauges(): BrokerGauges
  hasSubscribers(topic: string): boolean
  publishSys(message: Message): void
}

const PREFIX = '$SYS/'

/** The rates whose averages are published, in events per minute. */
const LOADS = {
  'messages/received': 'packetsReceived',
  'messages/sent': 'packetsSent',
  'publish/received': 'publishesReceived',
  'publish/sent': 'publishesSent',
  'publish/dropped': 'publishesDropped',
  'bytes/received': 'bytesReceived',
  'bytes/sent': 'bytesSent',
  sockets: 'socketsOpened',
  connections: 'connectsReceived',
} as const satisfies Record<string, keyof Traffic>

const PERIODS = [
  ['1min', 60_000],
  ['5min', 300_000],
  ['15min', 900_000],
] as const

/**
 * A broker's statistics in the topics of Mosquitto, below `$SYS/broker/`. They are published only while a filter
 * matches them, and only if their value has changed. They have QoS 0, so that they take no memory of offline clients.
 */
export class SysTopics {
  readonly #options: SysTopicsOptions
  readonly #host: SysTopicsHost
  readonly #startedAt: number
  readonly #loads: readonly MovingAverage[]
  readonly #topics: readonly string[]
  /** The last published values by topic. Undefined while no client is subscribed; then a SUBSCRIBE determines them. */
  #published: Map<string, string> | undefined
  #sampledAt: number
  /** Whether the topics of an interval are still being published, one in each turn of the event loop. */
  #isPublishing = false
  #cancelTick: () => void
  #cancelNext: () => void = () => undefined

  constructor(options: SysTopicsOptions, host: SysTopicsHost) {
    this.#options = options
    this.#host = host
    this.#startedAt = this.#sampledAt = host.clock.monotonic()
    this.#loads = Object.entries(LOADS).flatMap(([name, counter]) =>
      PERIODS.map(([period, periodMs]) => new MovingAverage(`load/${name}/${period}`, counter, periodMs)),
    )
    this.#topics = Array.from(this.#values().keys())
    this.#cancelTick = this.#scheduleTick()
  }

  /**
   * Returns the retained messages that match a filter, created as they are taken, because many subscriptions may be
   * waiting. Returns undefined for a filter of other topics.
   */
  match(filter: string): Iterator<Message> | undefined {
    return filter.startsWith(PREFIX) ? this.#matching(filter) : undefined
  }

  *#matching(filter: string): Generator<Message, void> {
    for (const topic of this.#topics) {
      if (!matchesFilter(filter, topic)) continue
      this.#published ??= this.#values()
      const value = this.#published.get(topic)
      if (value !== undefined) yield messageOf(topic, value)
    }
  }

  stop(): void {
    this.#cancelTick()
    this.#cancelNext()
  }

  #scheduleTick(): () => void {
    return this.#host.clock.schedule(this.#options.intervalMs, () => {
      this.#cancelTick = this.#scheduleTick()
      this.#sampleLoads()
      if (!this.#isPublishing) this.#publishChanges()
    })
  }

  #sampleLoads(): void {
    const now = this.#host.clock.monotonic()
    const elapsedMs = now - this.#sampledAt
    this.#sampledAt = now
    for (const load of this.#loads) load.sample(this.#host.traffic, elapsedMs)
  }

  #publishChanges(): void {
    if (!this.#topics.some(topic => this.#host.hasSubscribers(topic))) {
      this.#published = undefined
      return
    }
    this.#published ??= new Map<string, string>()
    const published = this.#published
    const changes = Array.from(this.#values()).filter(([topic, value]) => published.get(topic) !== value)
    this.#publishNext(published, changes.values())
  }

  /** Publishes one topic in each turn, so that many subscribers delay other clients no longer than one message does. */
  #publishNext(published: Map<string, string>, changes: Iterator<readonly [topic: string, value: string]>): void {
    const { value: change } = changes.next()
    this.#isPublishing = change !== undefined
    if (change === undefined) return
    const [topic, value] = change
    published.set(topic, value)
    this.#cancelNext = this.#host.clock.schedule(0, () => this.#publishNext(published, changes))
    this.#host.publishSys(messageOf(topic, value))
  }

  #values(): Map<string, string> {
    const { traffic, clock } = this.#host
    const { connections, sessions, subscriptions, sharedSubscriptions, retained, storedMessages, storedBytes } =
      this.#host.gauges()
    const uptimeSeconds = Math.floor((clock.monotonic() - this.#startedAt) / 1_000)
    const values: Record<string, string | number> = {
      version: this.#options.version,
      uptime: `${uptimeSeconds} seconds`,
      'clients/total': sessions,
      'clients/connected': connections,
      'clients/active': connections,
      'clients/disconnected': sessions - connections,
      'clients/inactive': sessions - connections,
      'clients/expired': traffic.sessionsExpired,
      'clients/maximum': traffic.maxConnections,
      'messages/received': traffic.packetsReceived,
      'messages/sent': traffic.packetsSent,
      'messages/stored': storedMessages,
      'store/messages/count': storedMessages,
      'store/messages/bytes': storedBytes,
      'publish/messages/received': traffic.publishesReceived,
      'publish/messages/sent': traffic.publishesSent,
      'publish/messages/dropped': traffic.publishesDropped,
      'publish/bytes/received': traffic.publishBytesReceived,
      'publish/bytes/sent': traffic.publishBytesSent,
      'bytes/received': traffic.bytesReceived,
      'bytes/sent': traffic.bytesSent,
      'subscriptions/count': subscriptions - sharedSubscriptions,
      'shared_subscriptions/count': sharedSubscriptions,
      'retained messages/count': retained,
      'heap/current': this.#options.heapBytes(),
    }
    for (const { name, perMinute } of this.#loads) values[name] = perMinute.toFixed(2)
    return new Map(Object.entries(values).map(([name, value]) => [`${PREFIX}broker/${name}`, String(value)]))
  }
}

const messageOf = (topic: string, value: string): Message => ({
  topic,
  content: { payload: utf8(value), userProperties: {} },
  qos: 0,
  retain: true,
  expiresAt: undefined,
})

/** A rate per minute, averaged with weights that decrease exponentially with age, as in Mosquitto. */
class MovingAverage {
  readonly name: string
  readonly #counter: keyof Traffic
  readonly #periodMs: number
  perMinute = 0
  #lastCount = 0

  constructor(name: string, counter: keyof Traffic, periodMs: number) {
    this.name = name
    this.#counter = counter
    this.#periodMs = periodMs
  }

  sample(traffic: Traffic, elapsedMs: number): void {
    const count = traffic[this.#counter]
    const current = elapsedMs > 0 ? ((count - this.#lastCount) * 60_000) / elapsedMs : this.perMinute
    this.#lastCount = count
    const weight = Math.exp(-elapsedMs / this.#periodMs)
    this.perMinute = current + (this.perMinute - current) * weight
  }
}
