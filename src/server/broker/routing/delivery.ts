import type { Content, Qos } from '../../../core/mqtt5/packets.js'
import { copyIfSparse } from '../../../core/util/bytes.js'
import { OVERHEAD_BYTES } from '../limits/limits.js'

export interface Message {
  readonly topic: string
  /** With QoS 1 and 2 it may be queued for long, so it holds no views of much larger buffers. */
  readonly content: Content
  readonly qos: Qos
  readonly retain: boolean
  /** ms of the monotonic clock */
  readonly expiresAt: number | undefined
}

/** A message routed to one session. */
export interface Delivery extends Message {
  /** Identifiers of the matching subscriptions (MQTT 5.0, section 3.3.2.3.8). */
  readonly subscriptionIds: readonly number[]
  /** A retained message for a new subscription. It is not charged, because it occupies no further memory. */
  readonly isReplay?: boolean | undefined
  /** Passes the message to another member of the shared subscription if the session ends without acknowledging it. */
  readonly reassign?: ((delivery: Delivery) => void) | undefined
}

/** Returns the memory charged for a message, bytes. */
export const sizeOf = ({ topic, content }: { topic: string; content: Pick<Content, 'payload' | 'carried'> }): number =>
  topic.length + content.payload.length + (content.carried?.length ?? 0) + OVERHEAD_BYTES

/** Returns the lower of the granted and the published QoS (MQTT 5.0, section 3.8.4). */
export const lowerQos = (granted: Qos, published: Qos): Qos => (granted < published ? granted : published)

/** Copies views of much larger buffers, so that a queued content does not retain those buffers. */
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
