import { utf8 } from '../../../src/core/util/bytes.js'
import type { Delivery, Message } from '../../../src/server/broker/routing/delivery.js'
import type { Subscriber, Subscription } from '../../../src/server/broker/routing/router.js'

export const messageOf = (topic: string, of: Partial<Message> & { readonly text?: string } = {}): Message => {
  const { text = topic, ...rest } = of
  const content = { payload: utf8(text), userProperties: {} }
  return { topic, content, qos: 1, retain: false, expiresAt: undefined, ...rest }
}

export class Recipient implements Subscriber {
  readonly got: Delivery[] = []
  isConnected = true
  isPersistent = true
  hasRoom = true

  tryMakeRoom(): boolean {
    return this.hasRoom
  }

  deliver(delivery: Delivery): void {
    this.got.push(delivery)
  }

  subscription(filter: string, of: Partial<Subscription> = {}): Subscription {
    return { subscriber: this, filter, qos: 2, noLocal: false, retainAsPublished: false, id: undefined, ...of }
  }
}
