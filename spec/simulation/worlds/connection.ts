import type { History } from '../../../harness/judges/history.js'
import type { Random } from '../../../harness/random.js'
import type { InboundMessage, OutboundRequest } from '../../../src/client/session/session.js'
import type { Content } from '../../../src/core/mqtt5/packets.js'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { parseCommand } from '../../../src/core/protocol/parse-command.js'
import { PROPERTY } from '../../../src/core/protocol/properties.js'
import { toHex, utf8 } from '../../../src/core/util/bytes.js'
import type { Conditions, Wire } from './network.js'
import type { BrokerKind } from './schedule.js'
import type { VirtualTime } from './virtual-time.js'

/** An outgoing message, with the position in the history at which the store sent it. */
export interface OutgoingMessage {
  readonly message: InboundMessage
  readonly position: number
  /** The key of a response, if responses are ordered per key. */
  readonly subject?: string | undefined
}

export interface ClientEnd {
  readonly clientId: string
  readonly wire: Wire
  readonly keepSession: boolean
  deliver(delivered: OutgoingMessage): void
  onTakeover(): void
}

export interface Session {
  readonly filters: Map<string, number | undefined>
  readonly unacknowledged: Map<number, OutgoingMessage>
}

export interface Setting {
  readonly kind: BrokerKind
  /** Whether the store does not notify of expired keys, like some other stores. */
  readonly silentExpiry?: boolean
  readonly time: VirtualTime
  readonly random: Random
  readonly conditions: Conditions
  readonly history: History
  /** The instance id that an attached store adds to its responses. */
  readonly instanceId?: { name: string }
}

/** A client's connection at the broker. It delivers messages in the order that its kind of broker keeps. */
export class SimConnection implements Client {
  readonly clientId: string
  readonly end: ClientEnd
  readonly session: Session
  readonly #setting: Setting
  readonly #nextId: () => number
  readonly #position: () => number
  /** The keys of requests by correlation data, if responses are ordered per key. */
  readonly #subjects = new Map<string, string>()
  readonly #last = new Map<string, number>()
  open = true

  constructor(end: ClientEnd, session: Session, setting: Setting, nextId: () => number, position: () => number) {
    this.clientId = end.clientId
    this.end = end
    this.session = session
    this.#setting = setting
    this.#nextId = nextId
    this.#position = position
  }

  subscribes(topic: string): boolean {
    return this.#filterOf(topic) !== undefined
  }

  onRequest(request: OutboundRequest): void {
    if (this.#setting.kind.order !== 'key') return
    const command = parseCommand(request.payload)
    const subject = 'key' in command ? toHex(command.key) : 'others'
    this.#subjects.set(String(request.correlationData), subject)
  }

  deliver(topic: string, content: Content): void {
    const { random, conditions, kind, instanceId } = this.#setting
    if (content.correlationData && random.chance(conditions.lostReply)) return
    const isOdd = content.correlationData && random.chanceOf(conditions.oddReply)
    const { payload, correlationData, contentType, userProperties } = isOdd ? oddReply(random, content) : content
    const { [PROPERTY.position]: _position, ...withoutPosition } = userProperties
    const own = kind.positions ? userProperties : withoutPosition
    const message = {
      topic,
      payload,
      correlationData,
      contentType,
      userProperties: instanceId && correlationData ? { ...own, [PROPERTY.instance]: instanceId.name } : own,
      subscriptionIds: this.#identifiersOf(topic),
    }
    const subject = this.#subjects.get(String(correlationData))
    const delivered = { message, position: this.#position(), subject }
    const id = this.#nextId()
    this.session.unacknowledged.set(id, delivered)
    const late = correlationData && random.chance(conditions.lateReply) ? 3_000 : 0
    this.transmit(id, delivered, random.int(0, conditions.brokerDelay) + late)
    if (random.chance(conditions.duplicate)) this.transmit(id, delivered, random.int(0, conditions.brokerDelay) + late)
  }

  /** Redelivers messages that were not acknowledged on the previous connection, if the broker still has them. */
  resume(): void {
    const { random, conditions } = this.#setting
    const { unacknowledged } = this.session
    if (random.chanceOf(conditions.lostQueue)) unacknowledged.clear()
    for (const [id, delivered] of unacknowledged) {
      const anonymous = random.chanceOf(conditions.lostIdentifier)
      const message = anonymous ? { ...delivered.message, subscriptionIds: [] } : delivered.message
      this.transmit(id, { ...delivered, message }, random.int(0, conditions.queueDelay))
    }
  }

  /** Sends a message after a delay, unless it is acknowledged before then. */
  transmit(id: number, delivered: OutgoingMessage, delay: number): void {
    this.#after(this.#orderOf(delivered), delay, () => {
      this.end.wire.down(() => {
        this.end.deliver(delivered)
        this.end.wire.up(() => this.session.unacknowledged.delete(id))
      })
    })
  }

  /** Applies SUBSCRIBE and UNSUBSCRIBE packets with a delay, one after another. */
  applyInOrder(task: (connection: this) => void): void {
    const { random, conditions } = this.#setting
    this.#after('subscriptions', random.int(0, conditions.brokerDelay), () => task(this))
  }

  #after(order: string, delay: number, task: () => void): void {
    const { time } = this.#setting
    const at = Math.max(this.#last.get(order) ?? 0, time.now + delay)
    this.#last.set(order, at)
    time.after(at - time.now, () => {
      if (this.open) task()
    })
  }

  #orderOf({ message: { topic, correlationData }, subject }: OutgoingMessage): string {
    const { order } = this.#setting.kind
    if (order === 'key' && correlationData) return `answers ${subject}`
    if (order === 'topic' || order === 'key') return topic
    return order === 'kind' && correlationData ? 'answers' : 'messages'
  }

  #filterOf(topic: string): string | undefined {
    for (const filter of this.session.filters.keys())
      if (filter === topic || topic.startsWith(filter.replace(/\+$/, ''))) return filter
    return undefined
  }

  #identifiersOf(topic: string): readonly number[] {
    const filter = this.#setting.kind.identifiers ? this.#filterOf(topic) : undefined
    const id = filter === undefined ? undefined : this.session.filters.get(filter)
    return id === undefined ? [] : [id]
  }
}

/** Replies that fit no request: of another protocol, truncated, with an unknown error, or for another request. */
const ODD_REPLIES = [
  '',
  '!',
  '$5\r\nab',
  '*1\r\n',
  '-ERR',
  '-ERR out of cheese',
  '-ERR the quota has been exceeded\r\n',
  '-ERR syntax error\r\n',
].map(utf8)

/** Returns the response of a faulty store or broker to a request. */
export function oddReply(
  random: Random,
  { correlationData }: { readonly correlationData?: Uint8Array | undefined },
): Content {
  const payload = ODD_REPLIES[random.int(0, ODD_REPLIES.length - 1)] ?? new Uint8Array()
  return { payload, correlationData, contentType: undefined, userProperties: {} }
}
