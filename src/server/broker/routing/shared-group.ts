import { type Delivery, lowerQos, type Message } from './delivery.js'
import type { Subscription } from './subscription.js'

/**
 * Who shares a subscription (MQTT 5.0, section 4.8.2): each message goes to one of them, in turn, to those that are
 * connected and have room first. What a session did not acknowledge when it ends goes to another that has room.
 */
export class SharedGroup {
  #members: Subscription[] = []
  #next = 0

  get size(): number {
    return this.#members.length
  }

  add(subscription: Subscription): void {
    this.#members.push(subscription)
  }

  remove(subscription: Subscription): void {
    this.#members = this.#members.filter(member => member !== subscription)
  }

  /** Returns whether there was somebody to take it. */
  deliver(message: Message): boolean {
    const member = this.#inTurn() ?? this.#anyLasting() ?? this.#members.find(isThere)
    if (member) this.#hand(message, member)
    return member !== undefined
  }

  /** Where no member has room it is lost: a session that is too full must not bring down the others one by one. */
  readonly #giveOn = (delivery: Delivery): void => {
    const member = this.#inTurn() ?? this.#anyLasting()
    if (member) this.#hand(delivery, member)
  }

  #hand(message: Message, member: Subscription): void {
    const { topic, content, expiresAt } = message
    member.subscriber.deliver({
      topic,
      content,
      expiresAt,
      qos: lowerQos(member.qos, message.qos),
      retain: member.retainAsPublished && message.retain,
      subscriptionIds: member.id === undefined ? [] : [member.id],
      giveOn: this.#giveOn,
    })
  }

  #inTurn(): Subscription | undefined {
    const count = this.#members.length
    for (let i = 0; i < count; i++) {
      const member = this.#members[(this.#next + i) % count]
      if (!member?.subscriber.connected || !member.subscriber.hasRoom) continue
      this.#next = (this.#next + i + 1) % count
      return member
    }
    return undefined
  }

  #anyLasting(): Subscription | undefined {
    return this.#members.find(({ subscriber }) => subscriber.lasting && subscriber.hasRoom)
  }
}

const isThere = ({ subscriber: { connected, lasting } }: Subscription): boolean => connected || lasting
