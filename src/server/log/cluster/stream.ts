import type { Observable } from 'rxjs'
import { StateStoreError } from '../../../core/util/errors.js'

export interface StreamMessage {
  /** Counts from 1 and increases by one per message, across all publishers. */
  readonly position: number
  /**
   * When the stream leader stored the message, by its own clock, ms since the Unix epoch. May jump in both directions.
   */
  readonly time: number
  /** Immutable. */
  readonly bytes: Uint8Array
}

/** Current extent and health of a stream. */
export interface StreamBounds {
  /** Position of the first message not trimmed; {@link last} + 1 if the stream is empty. */
  readonly first: number
  /** Position of the last message that a quorum has; 0 if there never was one. */
  readonly last: number
  /** Name of the stream leader, if known. */
  readonly leader?: string | undefined
  /**
   * Number of messages missing between the first and the last. Trimming removes only the oldest ones, so any missing
   * message is damage.
   */
  readonly missingCount?: number | undefined
  /** Names of replicas that are unreachable or incomplete, if known. */
  readonly laggingServers?: readonly string[] | undefined
}

/** Missing positions, both inclusive. */
export interface Hole {
  readonly from: number
  readonly to: number
}

export interface SnapshotName {
  /** The name given to {@link Stream.putSnapshot}. */
  readonly name: string
  /** Size in bytes. */
  readonly size: number
}

export interface Publication {
  readonly position: number
  /**
   * Whether the message was dropped because the stream has a message with the same id; `position` is that of the
   * earlier one.
   */
  readonly isDuplicate: boolean
}

/**
 * A failed stream operation. `lost`: no response, connection or quorum; the operation may or may not have taken effect.
 * `refused`: it had no effect and cannot succeed later, for example because a message is too large or a permission is
 * missing.
 */
export class StreamError extends StateStoreError {
  override readonly name = 'StreamError'
  readonly problem: 'lost' | 'refused'

  constructor(problem: 'lost' | 'refused', message: string, options?: ErrorOptions) {
    super('connection-lost', message, options)
    this.problem = problem
  }
}

/**
 * A replicated stream of messages with a store for snapshots: everything that the nodes of a store share. All
 * observables are cold: they do nothing before subscription and emit nothing after unsubscription, although operations
 * already sent may still take effect. Each may fail with {@link StreamError} at any time or never complete, so callers
 * set their own timeouts.
 */
export interface Stream {
  /** Maximum size of a message, bytes. */
  readonly maxMessageBytes: number

  /**
   * Publishes a message; emits its position once a quorum has it, then completes. Possible failures:
   * - The message is lost, and there is no response, or an error.
   * - The message is stored but its response is lost or late: the outcome is unknown until a message published later
   * has been read from the stream.
   * - A message published twice is stored twice, unless both have the same `id` and arrive within the stream's
   * deduplication window; then the second emits the position of the first, as a duplicate. Any permitted publisher can
   * use up an id it knows.
   * - Messages published in sequence keep their order, but any of them may be missing.
   * - After unsubscription, the message may still be stored, even after later messages of others.
   */
  publish(bytes: Uint8Array, id: string): Observable<Publication>

  /**
   * Follows the messages after a position, in order, each once in the normal case; never completes. Possible failures:
   * - It stalls silently or fails: follow again after the last position seen.
   * - It starts with messages already seen, or repeats some.
   * - It skips positions: those messages were trimmed, and only a snapshot covers them.
   *
   * Only messages that a quorum has are emitted.
   */
  follow(after: number): Observable<StreamMessage>

  /** Emits the extent of the stream once, including everything acknowledged before subscription. */
  bounds(): Observable<StreamBounds>

  /** Removes messages up to and including a position; completes when done. */
  trim(upTo: number): Observable<never>

  /**
   * Stores a snapshot, pulling its blocks one at a time as fast as they are stored. Completes when the snapshot is
   * complete; failed or unsubscribed writes are not listed.
   */
  putSnapshot(name: string, blocks: Iterable<Uint8Array>): Observable<never>

  /** Emits all complete snapshots once, in any order. */
  snapshots(): Observable<readonly SnapshotName[]>

  /**
   * Emits the bytes of a snapshot in order, in chunks of any size, then completes. Damage or an early end need not
   * cause an error, so snapshots carry their own checksums.
   */
  getSnapshot(name: string): Observable<Uint8Array>

  /** Removes a snapshot; completes even if it does not exist. */
  removeSnapshot(name: string): Observable<never>

  /**
   * Removes the remains of snapshots whose writing was interrupted before the last {@link putSnapshot} here, except
   * those completed since. Call it once that snapshot counts.
   */
  removeOrphans(): Observable<never>

  /** Queries a running node by its id; emits its instance id, or `undefined` if there was no response in time. */
  queryNode(nodeId: string): Observable<string | undefined>

  /** Responds to {@link queryNode} for a node while subscribed. */
  respondForNode(nodeId: string, instanceId: string): Observable<never>

  /** Closes the connection; completes when all operations have ended. Other subscriptions fail. */
  close(): Observable<never>
}
