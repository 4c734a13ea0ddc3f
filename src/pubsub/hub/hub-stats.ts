/** A glance at a running server; see {@link PubSubServer.stats}. */
export interface HubStats {
  /** Sessions at all hubs, with those whose client is away. */
  readonly sessions: number
  /** WebSockets of clients that were let in. */
  readonly connections: number
  /** Handshakes for which it is not decided yet who the client is. */
  readonly handshakes: number
  /** All that is connected to a server of our own, whatever it is about; 0 with a given `server`. */
  readonly networkConnections: number
  /** What waits for all clients together, bytes; see {@link ServePubSubOptions.maxWaitingBytes}. */
  readonly waitingBytes: number
  /** How often somebody was read more slowly that sent more than it may. */
  readonly pauses: number
  /** Handshakes that were refused, with an HTTP status. */
  readonly refusedHandshakes: number
  /** Network connections that were cut because there were too many; 0 with a given `server`. */
  readonly refusedConnections: number
}
