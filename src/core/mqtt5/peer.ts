import type { Content } from './packets.js'
import type { ReasonCode } from './reason-codes.js'

/** A principal whose connections share quotas. */
export interface ClientAccount {
  readonly name: string
  /** Charges expensive work, which delays further reads from the principal. */
  chargeWork(work: number): void
}

export interface Client {
  readonly clientId: string
  /** The principal that is charged, fixed at login; `undefined` if there are no quotas. */
  readonly account?: ClientAccount | undefined
  readonly open: boolean
  subscribes(topic: string): boolean
  /**
   * Delivers a message to this client regardless of its subscriptions, with QoS 1, or with QoS 0 if that was granted.
   * Callers pass the same content object for many clients. Bytes that are kept are copied if they are a view of a much
   * larger buffer.
   */
  deliver(topic: string, content: Content): void
  /**
   * Returns the client's maximum packet size in bytes if {@link deliver} would drop the message because of it (MQTT 5.0,
   * section 3.1.2.11.4). Default: no message is too large.
   */
  exceededPacketSize?(topic: string, content: Content): number | undefined
}

/** Why a PUBLISH is rejected. With a `disconnect` reason code, the connection is also closed. */
export interface PublishRejection {
  readonly reason: string
  readonly disconnect?: ReasonCode
}
