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
  /** The principal charged, fixed at login; `undefined` if there are no quotas. */
  readonly account?: ClientAccount | undefined
  readonly open: boolean
  subscribes(topic: string): boolean
  /**
   * Delivers to this client, regardless of its subscriptions: with QoS 1, or 0 if that was granted. A content sent to
   * many clients is one object. Kept bytes are copied if they are a view of much larger memory.
   */
  deliver(topic: string, content: Content): void
}

/** Why a PUBLISH is rejected; with a `disconnect` reason code, the connection is closed too. */
export interface PublishRejection {
  readonly reason: string
  readonly disconnect?: ReasonCode
}
