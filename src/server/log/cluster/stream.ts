import type { Observable } from 'rxjs'
import { StateStoreError } from '../../../core/util/errors.js'

export interface StreamMessage {
  /** The position, which starts at 1 and increases by one per message across all publishers. */
  readonly position: number
  /**
   * The time when the stream leader stored the message, by the leader's clock, in ms since the Unix epoch. Times may
   * jump in both directions.
   */
  readonly time: number
  /** The bytes, which must not be modified. */
  readonly bytes: Uint8Array
}

/** The current extent and health of a stream. */
export interface StreamBounds {
  /** The position of the first message that is not trimmed, or {@link last} + 1 if the stream is empty. */
  readonly first: number
  /** The position of the last message that a quorum has, or 0 if there never was a message. */
  readonly last: number
  /** The name of the stream leader, if known. */
  readonly leader?: string | undefined
  /**
   * The number of messages missing between the first and the last message. Trimming removes only the oldest messages,
   * so any missing message is damage.
   */
  readonly missingCount?: number | undefined
  /** The names of replicas that are unreachable or incomplete, if known. */
  readonly laggingServers?: readonly string[] | undefined
}

/** A range of missing positions, both inclusive. */
export interface Hole {
  readonly from: number
  readonly to: number
}

export interface SnapshotName {
  /** The name passed to {@link Stream.putSnapshot}. */
  readonly name: string
  /** The size in bytes. */
  readonly size: number
}

export interface Publication {
  readonly position: number
  /**
   * Whether the message was dropped because the stream has a message with the same id. If so, `position` is the
   * position of the earlier message.
   */
  readonly isDuplicate: boolean
}

/**
 * A failed stream operation. `lost`: there was no response, connection or quorum, and the operation may or may not have
 * taken effect. `refused`: the operation had no effect and cannot succeed later, for example because a message is too
 * large or a permission is missing.
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
 * A replicated stream of messages with a store for snapshots. The nodes of a store share nothing else. All observables
 * are cold: they do nothing before subscription and emit nothing after unsubscription, although operations already sent
 * may still take effect. Each observable may fail with {@link StreamError} at any time or never complete, so callers
 * must set timeouts.
 */
export interface Stream {
  /** The current maximum size of a message in bytes, which an operator may change. */
  readonly maxMessageBytes: number

  /**
   * Publishes a message. Emits its position when a quorum has the message, then completes. Possible failures:
   * - The message is lost, with an error or without any response.
   * - The message is stored but its response is lost or late. The outcome is unknown until a message published later
   *   has been read from the stream.
   * - A message published twice is stored twice, unless both have the same `id` and arrive within the stream's
   *   deduplication window. In that case, the second one emits the position of the first one, as a duplicate. Any
   *   permitted publisher can use up an id that it knows.
   * - Messages published in sequence keep their order, but any of them may be missing.
   * - After unsubscription, the message may still be stored, even after later messages of other publishers.
   */
  publish(bytes: Uint8Array, id: string): Observable<Publication>

  /**
   * Follows the messages after a position, in order and normally without repetition. Emits first the message at the
   * position if the stream has it, which shows whether the stream was replaced. Never completes. Possible failures:
   * - The observable stalls silently or fails. The caller should follow again after the last position seen.
   * - The observable starts with messages already seen, or repeats some.
   * - The observable skips positions. Those messages were trimmed, and only a snapshot covers them.
   *
   * Only messages that a quorum has are emitted.
   */
  follow(after: number): Observable<StreamMessage>

  /** Emits the extent of the stream once, including every message acknowledged before the subscription. */
  bounds(): Observable<StreamBounds>

  /** Removes the messages up to and including a position. Completes when they are removed. */
  trim(upTo: number): Observable<never>

  /**
   * Stores a snapshot, and pulls its blocks one at a time as fast as they are stored. Completes when the snapshot is
   * complete. Snapshots whose write failed or was unsubscribed are not listed.
   */
  putSnapshot(name: string, blocks: Iterable<Uint8Array>): Observable<never>

  /** Emits all complete snapshots once, in any order. */
  snapshots(): Observable<readonly SnapshotName[]>

  /**
   * Emits a snapshot's bytes in order, in chunks of any size, then completes. Damage or an early end does not
   * always cause an error, so snapshots contain checksums.
   */
  getSnapshot(name: string): Observable<Uint8Array>

  /** Removes a snapshot. Completes even if the snapshot does not exist. */
  removeSnapshot(name: string): Observable<never>

  /**
   * Removes the remains of snapshots whose writing was interrupted before this node's last {@link putSnapshot}, except
   * those completed since. Call this method after that snapshot counts.
   */
  removeOrphans(): Observable<never>

  /** Queries a running node by its id. Emits its instance id, or `undefined` if there was no response in time. */
  queryNode(nodeId: string): Observable<string | undefined>

  /** Responds to {@link queryNode} for a node, for as long as it is subscribed. */
  respondForNode(nodeId: string, instanceId: string): Observable<never>

  /** Closes the connection, and completes when all operations have ended. Other subscriptions fail. */
  close(): Observable<never>
}
