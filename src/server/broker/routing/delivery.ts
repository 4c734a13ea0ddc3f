import type { Content, Qos } from '../../../core/mqtt5/packets.js'
import { copyIfSparse } from '../../../core/util/bytes.js'
import { OVERHEAD_BYTES } from '../limits/limits.js'

export interface Message {
  readonly topic: string
  /**
   * The content. Messages with QoS 1 or 2 may be queued for a long time, so their content holds no views of much larger
   * buffers.
   */
  readonly content: Content
  readonly qos: Qos
  readonly retain: boolean
  /** The expiry in ms of the monotonic clock. */
  readonly expiresAt: number | undefined
}

/** A message routed to one session. */
export interface Delivery extends Message {
  /** The identifiers of the matching subscriptions (MQTT 5.0, section 3.3.2.3.8). */
  readonly subscriptionIds: readonly number[]
  /**
   * Whether the message is a retained message for a new subscription. Such a message does not count towards the limits
   * of the queue, because a subscription pauses at a separate limit.
   */
  readonly isReplay?: boolean | undefined
  /**
   * Passes the message to another member of the shared subscription if the session ends before the message is
   * acknowledged.
   */
  readonly reassign?: ((delivery: Delivery) => void) | undefined
}

/** Returns the bytes charged for a message. */
export const sizeOf = ({ topic, content }: { topic: string; content: Pick<Content, 'payload' | 'carried'> }): number =>
  topic.length + content.payload.length + (content.carried?.length ?? 0) + OVERHEAD_BYTES

/** Returns the lower of the granted and the published QoS (MQTT 5.0, section 3.8.4). */
export const lowerQos = (granted: Qos, published: Qos): Qos => (granted < published ? granted : published)

/**
 * Copies content that consists of views of much larger buffers, so that a queued message does not retain those buffers.
 */
export function copyContentIfSparse(content: Content): Content {
  const { payload, correlationData, carried } = content
  const copied = {
    payload: copyIfSparse(payload),
    correlationData: correlationData && copyIfSparse(correlationData),
    carried: carried && copyIfSparse(carried),
  }
  if (copied.payload === payload && copied.correlationData === correlationData && copied.carried === carried)
    return content
  return { ...content, ...copied }
}

export function copyDeliveryIfSparse(delivery: Delivery): Delivery {
  const content = copyContentIfSparse(delivery.content)
  return content === delivery.content ? delivery : { ...delivery, content }
}
