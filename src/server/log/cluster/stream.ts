import type { Observable } from 'rxjs'
import { StateStoreError } from '../../../core/util/errors.js'

/** What a stream keeps of a message. */
export interface StreamMessage {
  /** From 1, and one more for each message, whoever published it. */
  readonly position: number
  /** When the stream took it by the clock of whoever led it then, ms since the Unix epoch: it may jump, also back. */
  readonly time: number
  /** Nobody changes them afterwards. */
  readonly bytes: Uint8Array
}

/** What a stream has at one moment. */
export interface StreamBounds {
  /** Position of the first message that is not trimmed; one more than {@link last} when there is none. */
  readonly first: number
  /** Position of the last message that a quorum has; 0 when there never was one. */
  readonly last: number
  /** Who leads the stream, for those who look, if it is known. */
  readonly leader?: string | undefined
  /** So many messages between the first and the last are not there: nobody removes any but the oldest. */
  readonly missing?: number | undefined
  /** Who keeps the stream as well, and does not have all of it, or cannot be reached, if it is known. */
  readonly behind?: readonly string[] | undefined
}

/** Positions that are not there, the first and the last of them. */
export interface Hole {
  readonly from: number
  readonly to: number
}

/** A snapshot that is there as a whole. */
export interface SnapshotName {
  /** As it was put. */
  readonly name: string
  /** Bytes. */
  readonly size: number
}

/** What became of a message that was published. */
export interface Publication {
  readonly position: number
  /** The stream has had a message with the same id, at this position; this one is not there. */
  readonly isDuplicate: boolean
}

/**
 * What went wrong with a stream, and whether trying again may help. `lost`: no answer, no connection, no quorum; it may have
 * been done or not. `refused`: it was not done, and the same will not be done later either, as a message is too large or
 * there is no right to it.
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
 * A replicated stream of messages, and a place for snapshots beside it: all that the nodes of a store share. Everything is
 * cold: nothing is done before the subscription, and nothing is told after its end, though what was sent may still be done.
 * Every observable may fail with {@link StreamError} at any time, and may as well take for ever: whoever waits brings a
 * bound of its own.
 */
export interface Stream {
  /** Largest message, bytes. */
  readonly largest: number

  /**
   * Puts a message into the stream, and emits its place when a quorum has it, once, then completes. What may go wrong:
   * - The message is lost, and no answer comes, or an error.
   * - The message is there and its answer is lost or late: the outcome is open until the stream has been read as far as
   *   something that was published later and is there.
   * - It is there twice when it was published twice, unless `id` was the same and both came within the time for which the
   *   stream remembers ids; then the second one emits the position of the first, as a duplicate. Anybody who may publish
   *   can use up an id that he knows.
   * - Messages published one after the other come into the stream in that order, but any of them may be missing.
   * - Unsubscribed, it may come into the stream later, even after what was published later by others.
   */
  publish(bytes: Uint8Array, id: string): Observable<Publication>

  /**
   * Messages behind a position, in order, each once while all goes well; never completes. What may go wrong:
   * - It stalls without a word, and it fails: then follow again behind the last position that was seen.
   * - It begins with messages that were seen, or repeats some.
   * - It jumps over positions: what was there has been trimmed, and only a snapshot has it.
   *
   * Nothing is emitted that a quorum does not have.
   */
  follow(after: number): Observable<StreamMessage>

  /** What there is, with all that was published and answered before this was subscribed to; once, then completes. */
  bounds(): Observable<StreamBounds>

  /** Forgets messages up to and including a position; completes when it is done. */
  trim(upTo: number): Observable<never>

  /**
   * Keeps a snapshot; its blocks are pulled one after the other, at the pace of the place. Completes when it is there as a
   * whole. One that failed or was unsubscribed from is not listed.
   */
  putSnapshot(name: string, blocks: Iterable<Uint8Array>): Observable<never>

  /** Snapshots that are there as a whole, in any order; once, then completes. */
  snapshots(): Observable<readonly SnapshotName[]>

  /**
   * The bytes of a snapshot in order, cut anywhere; completes behind the last. What it emits may be damaged or end early
   * without an error: a snapshot has a checksum of its own.
   */
  getSnapshot(name: string): Observable<Uint8Array>

  /** Removes a snapshot; completes also when there was none. */
  removeSnapshot(name: string): Observable<never>

  /**
   * Removes what is left of snapshots whose writing was cut short before the last {@link putSnapshot} was subscribed to here,
   * unless they are there as a whole by now; to be called when the one that was put then counts.
   */
  sweep(): Observable<never>

  /** Asks for a node that lives, by its id; emits its life, or `undefined` when nobody answered in time, then completes. */
  ask(nodeId: string): Observable<string | undefined>

  /** Answers those who {@link ask} for a node, as long as it is subscribed to. */
  answer(nodeId: string, life: string): Observable<never>

  /** Lets go of the connection; completes when nothing is on its way. What is subscribed to fails. */
  close(): Observable<never>
}
