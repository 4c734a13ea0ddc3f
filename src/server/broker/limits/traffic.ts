/**
 * What a broker has received and sent since its start. The counts are plain numbers, because they change with every
 * packet.
 */
export class Traffic {
  bytesReceived = 0
  bytesSent = 0
  /** Packets of all types, PUBLISH included. */
  packetsReceived = 0
  packetsSent = 0
  publishesReceived = 0
  publishesSent = 0
  /** Bytes of payloads. */
  publishBytesReceived = 0
  publishBytesSent = 0
  /** Messages with QoS 0 that were dropped because the client reads too slowly. */
  publishesDropped = 0
  socketsOpened = 0
  connectsReceived = 0
  /** Sessions that ended because their expiry passed. */
  sessionsExpired = 0
  /** The maximum number of clients that were connected at the same time. */
  maxConnections = 0
}
