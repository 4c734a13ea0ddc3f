import type { Content, Qos } from '../../../core/mqtt5/packets.js'
import { copyIfSparse } from '../../../core/util/bytes.js'
import { OVERHEAD_BYTES } from '../limits/limits.js'

/** A message, before it is known who gets it. */
export interface Message {
  readonly topic: string
  /** With QoS 1 and 2 it may be kept for long: nothing in it is a view of memory that is much larger. */
  readonly content: Content
  readonly qos: Qos
  readonly retain: boolean
  /** When it expires, ms of the monotonic clock. */
  readonly expiresAt: number | undefined
}

/** A message on its way to one session. */
export interface Delivery extends Message {
  /** Of the subscriptions it matches (MQTT 5.0, section 3.3.2.3.8). */
  readonly subscriptionIds: readonly number[]
  /** A retained message for a new subscription: many may come at once, and they cost no memory of their own. */
  readonly isReplay?: boolean | undefined
  /** Gives it to somebody else when the session ends without having it; only of shared subscriptions. */
  readonly reassign?: ((delivery: Delivery) => void) | undefined
}

/** What a message counts while it waits, bytes. */
export const sizeOf = ({ topic, content }: { topic: string; content: Pick<Content, 'payload' | 'carried'> }): number =>
  topic.length + content.payload.length + (content.carried?.length ?? 0) + OVERHEAD_BYTES

/** The lower of what was granted and what was published (MQTT 5.0, section 3.8.4). */
export const lowerQos = (granted: Qos, published: Qos): Qos => (granted < published ? granted : published)

/** A content to keep: what it has may be views of memory that is much larger. */
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

/** A delivery to keep. */
export function copyDeliveryIfSparse(delivery: Delivery): Delivery {
  const content = copyContentIfSparse(delivery.content)
  return content === delivery.content ? delivery : { ...delivery, content }
}
