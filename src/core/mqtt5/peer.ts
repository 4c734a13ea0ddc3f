import type { Content } from './packets.js'
import type { ReasonCode } from './reason-codes.js'

/** One that has to keep to quotas, with all its connections. */
export interface ClientAccount {
  /** Different from everybody else's. */
  readonly name: string
  /** Something was done for it that takes more than most: the more work, the later it is heard again. */
  worked(work: number): void
}

/** A client's connection. The broker has it, and whatever answers clients knows it by this alone. */
export interface Client {
  /** Empty before it is known. */
  readonly clientId: string
  /** To whose quotas it counts, the same since it was let in; `undefined` for nobody's. */
  readonly account?: ClientAccount | undefined
  /** Whether the client is connected. */
  readonly open: boolean
  /** Whether one of its subscriptions matches the topic. */
  subscribes(topic: string): boolean
  /**
   * Delivers to this client alone, whether it subscribes to the topic or not: with QoS 1, or 0 where that is what was
   * granted. Contents that go to many clients are one object. What is kept of them is copied where it is a view of memory
   * that is much larger.
   */
  deliver(topic: string, content: Content): void
}

/** Why a PUBLISH is refused; with `disconnect`, a reason code, the connection ends as well. */
export interface PublishRejection {
  readonly reason: string
  readonly disconnect?: ReasonCode
}
