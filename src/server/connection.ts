/** What the store sends. */
export interface Content {
  readonly payload: Uint8Array
  readonly correlationData?: Uint8Array
  readonly contentType: string
  readonly userProperties: Readonly<Record<string, string>>
}

/** A content and where it goes. */
export interface Outgoing extends Content {
  readonly topic: string
}

/** Whoever has to keep to quotas, with all its connections. */
export interface ConnectionAccount {
  /** Different from everybody else's. */
  readonly name: string
  /** Something was done for it that takes more than most: the more work, the later it is heard again. */
  worked(work: number): void
}

/** A client's connection, as far as the store has to do with it. */
export interface Connection {
  readonly clientId: string
  /** To whose quotas it counts, the same for all its time; `undefined` for nobody's. */
  readonly account?: ConnectionAccount | undefined
  /** Whether it is still open. */
  readonly open: boolean
  /** Whether one of its subscriptions matches the topic. */
  subscribes(topic: string): boolean
  /**
   * Delivers to this connection, QoS 1. A content that goes to several connections is one object; nothing in it is a view
   * of memory that is much larger.
   */
  deliver(topic: string, content: Content): void
}
