import { reason, StateStoreError } from '../../../core/util/errors.js'
import { damagedError } from '../errors.js'
import { LogFailure } from '../log.js'
import type { Hole, StreamBounds } from './stream.js'

declare module '../../../core/util/errors.js' {
  interface ErrorCodes {
    /** The nodes of a store derived different states from the same log. */
    diverged: true
    /** Another node with the same id replaced this one. */
    superseded: true
    /** The nodes of a store share a key that this node does not have. */
    'log-key': true
  }
}

/**
 * Returns the error for a node that reports a different state.
 *
 * @param at - position of the node's message
 */
export const divergedError = (sender: string, position: number, at: number): StateStoreError =>
  new StateStoreError(
    'diverged',
    `node ${sender} reports at position ${at} of the log that its state at position ${position} differs from this node's: ` +
      'one of them is damaged, or their versions are incompatible; stop both and decide which one to ' +
      `trust. If that is not one of your nodes, exclude its message with --log-skip ${at} at every node`,
  )

export const supersededError = (nodeId: string): StateStoreError =>
  new StateStoreError('superseded', `another node with the id ${nodeId} replaced this one: give every node a unique id`)

/** Returns the error for a stream that lost acknowledged messages. */
export const rolledBackError = (position: number, known: number): StateStoreError =>
  damagedError(
    `the stream gave a new message position ${position} after it had reached ${known}: the stream lost acknowledged ` +
      'messages or was replaced',
  )

/**
 * Returns the error for messages in the stream that no node sent.
 *
 * @param earlierCount - number of earlier messages that were not reported
 */
export const foreignMessageError = (position: number, why: string, earlierCount: number): StateStoreError =>
  damagedError(
    `all nodes ignore the message at position ${position} of the stream: ${why}` +
      (earlierCount === 0 ? '' : ` (and ${earlierCount} more before it)`),
  )

/** Returns the error for an entry of an unidentified sender that cannot be decoded. */
export const unreadableEntryError = (node: string, position: number, cause: unknown): StateStoreError =>
  damagedError(
    `the entry of node ${node} at position ${position} of the log cannot be decoded, and nodes ignore it ` +
      `(${reason(cause)}); if the node runs another version, their states now differ`,
    { cause },
  )

export const unknownFormatError = (format: number, position: number): StateStoreError =>
  new StateStoreError(
    'format',
    `a node of another version writes to this log (format ${format}, position ${position}), which this version cannot read: ` +
      'run compatible versions at all nodes',
  )

/** Returns the error for a log that requires signatures while this node has no key. */
export const keyMissingError = (position: number): StateStoreError =>
  new StateStoreError(
    'log-key',
    `from position ${position} on, the nodes of this log sign their messages, but this node has no key: pass the key ` +
      'of the other nodes (--log-key-file); if none of your nodes has a key, exclude that message with --log-skip ' +
      `${position} at every node`,
  )

/** Returns the error for a log that requires signatures with another key. */
export const keyMismatchError = (position: number): StateStoreError =>
  new StateStoreError(
    'log-key',
    `the message at position ${position} of the log is signed with a key that this node does not have: pass the key ` +
      'of the other nodes (--log-key-file); if none of your nodes sent that message, exclude it with --log-skip ' +
      `${position} at every node`,
  )

/** Returns the error for a node that signs with another key or not at all, while its messages still count. */
export const otherSignerError = (node: string, position: number): StateStoreError =>
  new StateStoreError(
    'log-key',
    `node ${node} does not yet sign with the key of this node (position ${position} of the log): restart it ` +
      'with the same --log-key-file',
  )

/** Returns the error for messages that are missing in the middle of the stream. */
export const holeError = ({ from, to }: Hole): StateStoreError =>
  damagedError(
    `the messages from position ${from} to ${to} are missing from the stream although it was not trimmed there: the ` +
      'files of a NATS server are damaged. The node reopens the log, through another server if one leads by then; a node with ' +
      'a later snapshot does not need these messages',
  )

/**
 * Returns the error for a snapshot that could not be written. It is not a stream error, because those are reported only
 * once and the log keeps working.
 */
export const snapshotFailedError = (cause: unknown): StateStoreError =>
  new StateStoreError(
    'connection-lost',
    `a snapshot could not be written, and the log grows until one succeeds (the next attempt is in a minute): ${reason(cause)}`,
    { cause },
  )

export const entryTooLarge = (size: number, maxBytes: number): LogFailure =>
  new LogFailure('full', `an entry of ${size} bytes exceeds the maximum of ${maxBytes} bytes of a shared log`)

/** Returns the failure of an entry whose epoch has ended before the entry reached the log. */
export const entryAbandoned = (): LogFailure =>
  new LogFailure('unavailable', 'the log was unavailable for too long; the entry will never be in it')

/** Returns an error that describes the problems of a working stream, or `undefined` if it has none. */
export function degradedError({
  first,
  last,
  missingCount = 0,
  laggingServers = [],
}: StreamBounds): StateStoreError | undefined {
  if (missingCount > 0)
    return damagedError(
      `the stream lacks ${missingCount} of the messages between positions ${first} and ${last}: running nodes have all ` +
        'keys, but a starting node may not get past the gap until a later snapshot exists; dump a running node',
    )
  if (laggingServers.length === 0) return undefined
  return new StateStoreError(
    'connection-lost',
    `the log is not on all its NATS servers; unreachable or incomplete: ${laggingServers.join(', ')}`,
  )
}
