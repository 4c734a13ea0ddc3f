import type { Qos, SubscriptionRequest } from '../../../core/mqtt5/packets.js'
import { LEVEL_SIZE } from '../limits/limits.js'
import type { Delivery } from './delivery.js'

/** Who subscribes: a session, as far as routing has to do with it. */
export interface Subscriber {
  /** Whether its client is connected. */
  readonly connected: boolean
  /** Whether it goes on when its connection ends. */
  readonly lasting: boolean
  /** Whether it can keep another message. */
  readonly hasRoom: boolean
  deliver(delivery: Delivery): void
}

/** What a session subscribed to. */
export interface Subscription {
  readonly subscriber: Subscriber
  /** As the client wrote it. */
  readonly filter: string
  readonly qos: Qos
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** Of the SUBSCRIBE it came with (MQTT 5.0, section 3.8.2.1.2). */
  readonly id: number | undefined
}

const SHARE = '$share/'

/** The filter after `$share/{group}/` (MQTT 5.0, section 4.8.2); `undefined` for one that is not shared. */
export const sharedFilter = (filter: string): string | undefined =>
  filter.startsWith(SHARE) ? filter.slice(filter.indexOf('/', SHARE.length) + 1) : undefined

/** Whether a subscription is shared with other sessions. */
export const isShared = ({ filter }: Subscription): boolean => filter.startsWith(SHARE)

/** What a subscription counts, bytes: with wildcards it has branches of its own, for all sessions and for its own. */
export const subscriptionSize = (filter: string): number =>
  2 * filter.length + 600 + (/[+#]/.test(filter) ? 2 * LEVEL_SIZE * filter.split('/').length : 0)

/** A subscription as it was asked for. */
export const subscriptionOf = (
  subscriber: Subscriber,
  { filter, qos, noLocal, retainAsPublished }: SubscriptionRequest,
  id: number | undefined,
): Subscription => ({ subscriber, filter, qos, noLocal, retainAsPublished, id })
