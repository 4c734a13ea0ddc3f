/** Every bound of the broker, in one place. Bytes and numbers of pieces both have one; what is over is refused. */
export const LIMIT = {
  /** How long a connection may take to say CONNECT and to authenticate, ms. */
  connectTimeoutMs: 10_000,
  /** How long a packet may be incomplete, ms, and the slowest rate above which it may take longer, bytes per ms. */
  packetTimeoutMs: 60_000,
  packetBytesPerMs: 16,
  /** How long a client may take to close a connection that has ended, ms. */
  closeTimeoutMs: 5_000,
  /** A session ends so long after its connection at the latest, s. */
  sessionExpirySeconds: 86_400,
  /** Sessions without a connection; then those end that have been away longest. */
  offlineSessions: 10_000,
  /** A CONNECT that is larger counts as long as its connection lasts, bytes. */
  freeConnectBytes: 4_096,
  /** UTF-16 units of a client id. The hash of longer texts says nothing, and an attacker could choose equal ones. */
  clientIdLength: 4_096,
  /** Of one client. */
  subscriptionsPerClient: 1_000,
  /** Levels of a topic or filter. */
  topicLevels: 100,
  /** Messages and bytes that wait for one session's acknowledgement; with more it ends. */
  queuedMessages: 10_000,
  queuedBytes: 8 * 1024 * 1024,
  /** Retained messages, and how many of them one client has still to be sent. */
  retainedMessages: 100_000,
  retainedBytes: 256 * 1024 * 1024,
  /** Topics for which a client may have an alias. */
  inboundAliases: 16,
  outboundAliases: 64,
  /** A connection with more unsent bytes than this is ended, so that a slow client costs the others nothing. */
  backlogBytes: 16 * 1024 * 1024,
  /** How long a connection with much unsent may take not a single byte, ms. */
  stallTimeoutMs: 5_000,
  /** What a connection that ended for its memory may have still to send: a farewell, bytes. */
  disconnectBytes: 4_096,
  /** With more unsent bytes QoS 0 messages are dropped, as that QoS allows. */
  qos0BacklogBytes: 4 * 1024 * 1024,
  /** With more unsent bytes a connection is not read, as long as the network takes none of them. */
  readPauseBytes: 1024 * 1024,
  /** Requests of a client that does not acknowledge their answers: as many bytes wait. */
  deferredBytes: 1024 * 1024,
} as const

/** What something costs besides its bytes, roughly, bytes. */
export const OVERHEAD_BYTES = 200

/** What a level of a topic costs where it is a branch of its own, roughly, bytes. */
export const LEVEL_BYTES = 250
