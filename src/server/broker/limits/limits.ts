/** All fixed limits of the broker. Both counts and bytes are limited. */
export const LIMIT = {
  /** From connecting to the end of authentication, ms. */
  connectTimeoutMs: 10_000,
  /** Deadline for completing a packet, ms; a packet that arrives faster than `packetBytesPerMs` may take longer. */
  packetTimeoutMs: 60_000,
  packetBytesPerMs: 16,
  /** Time for a client to close a connection that the broker has ended, ms. */
  closeTimeoutMs: 5_000,
  sessionExpirySeconds: 86_400,
  /** Sessions without a connection; beyond that, those offline longest end. */
  offlineSessions: 10_000,
  /** A larger CONNECT is charged to the memory budget for the duration of its connection, bytes. */
  freeConnectBytes: 4_096,
  /** UTF-16 units. V8 hashes longer strings predictably, so an attacker could choose colliding client ids. */
  clientIdLength: 4_096,
  subscriptionsPerClient: 1_000,
  topicLevels: 100,
  /** Unacknowledged messages and bytes of one session; beyond that, the session ends. */
  queuedMessages: 10_000,
  queuedBytes: 8 * 1024 * 1024,
  /** Retained messages; also the number of them queued for one client. */
  retainedMessages: 100_000,
  retainedBytes: 256 * 1024 * 1024,
  inboundAliases: 16,
  outboundAliases: 64,
  /** Unsent bytes at which a connection is closed, so that a slow client does not affect others. */
  backlogBytes: 16 * 1024 * 1024,
  /** Time without progress after which a connection with a full send buffer is closed, ms. */
  stallTimeoutMs: 5_000,
  /** Unsent bytes that an evicted connection may still send, enough for a DISCONNECT. */
  disconnectBytes: 4_096,
  /** Unsent bytes at which QoS 0 messages are dropped, as QoS 0 permits. */
  qos0BacklogBytes: 4 * 1024 * 1024,
  /** Unsent bytes at which a connection is not read until the network accepts data. */
  readPauseBytes: 1024 * 1024,
  /** Queued requests of a client that does not acknowledge its responses, bytes. */
  deferredBytes: 1024 * 1024,
} as const

/** Approximate memory of an item in addition to its data, bytes. */
export const OVERHEAD_BYTES = 200

/** Approximate memory of a topic level that has its own trie branch, bytes. */
export const LEVEL_BYTES = 250
