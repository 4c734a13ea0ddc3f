/** All fixed limits of the broker. */
export const LIMIT = {
  /** The time in ms from connecting to the end of authentication. */
  connectTimeoutMs: 10_000,
  /**
   * The time in ms in which a packet must be complete. A packet that arrives faster than `packetBytesPerMs` may take
   * longer.
   */
  packetTimeoutMs: 60_000,
  packetBytesPerMs: 16,
  /** The time in ms that a client has to close a connection that the broker has ended. */
  closeTimeoutMs: 5_000,
  sessionExpirySeconds: 86_400,
  /** The limit on sessions without a connection. Beyond the limit, the session that has been offline longest ends. */
  offlineSessions: 10_000,
  /** The size in bytes above which a CONNECT is charged to the memory budget for its connection's duration. */
  freeConnectBytes: 4_096,
  /**
   * The maximum length in UTF-16 units. V8 hashes longer strings predictably, so an attacker could choose colliding
   * client ids.
   */
  clientIdLength: 4_096,
  subscriptionsPerClient: 1_000,
  topicLevels: 100,
  /** The limits on the unacknowledged messages and bytes of one session. Beyond a limit, the session ends. */
  queuedMessages: 10_000,
  queuedBytes: 8 * 1024 * 1024,
  retainedMessages: 100_000,
  retainedBytes: 256 * 1024 * 1024,
  /**
   * The unacknowledged retained messages and bytes of one session at which a subscription sends no further retained
   * messages until the client acknowledges some.
   */
  replayedMessages: 1_000,
  replayedBytes: 1024 * 1024,
  inboundAliases: 16,
  outboundAliases: 64,
  /** The unsent bytes at which a connection is closed, so that a slow client does not affect others. */
  backlogBytes: 16 * 1024 * 1024,
  /** The time in ms without progress after which a connection with a full send buffer is closed. */
  stallTimeoutMs: 5_000,
  /** The unsent bytes that an evicted connection may still send, enough for a DISCONNECT. */
  disconnectBytes: 4_096,
  /** The unsent bytes at which QoS 0 messages are dropped, as QoS 0 permits. */
  qos0BacklogBytes: 4 * 1024 * 1024,
  /** The unsent bytes at which the broker stops reading from a connection until the network accepts data. */
  readPauseBytes: 1024 * 1024,
  /** The limit in bytes on the queued requests of a client that does not acknowledge its responses. */
  deferredBytes: 1024 * 1024,
} as const

/** The approximate memory in bytes that an item takes in addition to its data. */
export const OVERHEAD_BYTES = 200

/** The approximate memory in bytes of a topic level that has its own trie branch. */
export const LEVEL_BYTES = 250
