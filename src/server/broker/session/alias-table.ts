import { PacketError } from '../../../core/mqtt5/packet-error.js'
import type { InboundPublish } from '../../../core/mqtt5/publish.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { Budget } from '../limits/budget.js'
import { LIMIT, OVERHEAD } from '../limits/limits.js'

/** The topics that a client has given numbers on its connection (MQTT 5.0, section 3.3.2.3.4). */
export class AliasTable {
  readonly #budget: Budget
  #topics: Map<number, string> | undefined
  #bytes = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** What it counts. */
  get bytes(): number {
    return this.#bytes
  }

  /** The message with the topic it is about. Raises {@link PacketError} for an alias that stands for nothing. */
  resolve(message: InboundPublish): InboundPublish {
    const { topic, topicAlias } = message
    if (topicAlias === undefined) return message
    if (topicAlias > LIMIT.inboundAliases)
      throw new PacketError(REASON.topicAliasInvalid, `topic alias ${topicAlias} is over the maximum`)
    if (topic !== '') {
      this.#set(topicAlias, topic)
      return message
    }
    const known = this.#topics?.get(topicAlias)
    if (known === undefined) throw new PacketError(REASON.protocolError, `topic alias ${topicAlias} stands for nothing`)
    return { ...message, topic: known }
  }

  clear(): void {
    this.#budget.give(this.#bytes)
    this.#bytes = 0
    this.#topics = undefined
  }

  #set(alias: number, topic: string): void {
    this.#topics ??= new Map()
    const before = this.#topics.get(alias)
    if (before === topic) return
    const bytes = topic.length - (before === undefined ? -OVERHEAD : before.length)
    this.#bytes += bytes
    this.#budget.count(bytes)
    this.#topics.set(alias, topic)
  }
}
