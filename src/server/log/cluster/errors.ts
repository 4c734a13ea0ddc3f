import { reason, StateStoreError } from '../../../core/util/errors.js'
import { damagedError } from '../errors.js'
import { LogFailure } from '../log.js'
import type { Hole, StreamBounds } from './stream.js'

declare module '../../../core/util/errors.js' {
  interface ErrorCodes {
    /** Nodes of a store have come to different states from the same log. */
    diverged: true
    /** Another node took the place of this one, by its name. */
    superseded: true
    /** Nodes of a store share a key, and this one has another one or none. */
    'log-key': true
  }
}

/** What every node has to do alike was not done alike. @param at - where that was said */
export const diverged = (sender: string, position: number, at: number): StateStoreError =>
  new StateStoreError(
    'diverged',
    `the node ${sender} says at position ${at} of the log that it has another state than this one at position ${position}: ` +
      'one of them is damaged, or they are of versions that do not go together; both have to be stopped, and one to be ' +
      `trusted. If that is no node of yours, leave it out with --log-skip ${at}, at every node`,
  )

/** Another process has this node's name. */
export const superseded = (nodeId: string): StateStoreError =>
  new StateStoreError(
    'superseded',
    `another node has the id ${nodeId} and took the place of this one: every node needs an id of its own`,
  )

/** The stream has lost what it had. */
export const rolledBack = (position: number, known: number): StateStoreError =>
  damagedError(
    `the stream gave a new message the position ${position}, though it had come to ${known}: it has lost what it had ` +
      'acknowledged, or is another one',
  )

/** Messages in the stream are of no node; they count for nobody. @param more - others before it that were not told */
export const foreign = (position: number, why: string, more: number): StateStoreError =>
  damagedError(
    `the message at position ${position} of the stream is ignored by all nodes: ${why}` +
      (more === 0 ? '' : ` (and ${more} more before it)`),
  )

/** An entry that cannot be read, of somebody of whom nobody knows who it is. */
export const unreadable = (node: string, position: number, cause: unknown): StateStoreError =>
  damagedError(
    `the entry of the node ${node} at position ${position} of the log cannot be read, and is none for all nodes ` +
      `(${reason(cause)}); if it is a node of another version, their states differ from now on`,
    { cause },
  )

/** A node of another version sends what this one cannot read. */
export const unknownFormat = (format: number, position: number): StateStoreError =>
  new StateStoreError(
    'format',
    `a node of another version writes to this log (format ${format}, position ${position}), and this one cannot read it: ` +
      'all nodes of a store have to be of versions that go together',
  )

/** The nodes of the log have a key, and this one has none. */
export const keyMissing = (position: number): StateStoreError =>
  new StateStoreError(
    'log-key',
    `from position ${position} on the nodes of this log sign their messages, and this node has no key: give it the one ` +
      'that the others have (--log-key-file); if none of your nodes has one, leave that message out with --log-skip ' +
      `${position}, at every node`,
  )

/** The nodes of the log have another key. */
export const keyDiffers = (position: number): StateStoreError =>
  new StateStoreError(
    'log-key',
    `the message at position ${position} of the log is signed with a key that this node does not have: give it the one ` +
      'that the others have (--log-key-file); if no node has sent that message, leave it out with --log-skip ' +
      `${position}, at every node`,
  )

/** A node has another key than this one, or none, and still counts. */
export const signedOtherwise = (node: string, position: number): StateStoreError =>
  new StateStoreError(
    'log-key',
    `the node ${node} does not sign with the key of this node yet (position ${position} of the log): it is to be started ` +
      'with the same --log-key-file',
  )

/** Messages are missing in the middle of the stream, for all that a node was told. */
export const holeFound = ({ from, to }: Hole): StateStoreError =>
  damagedError(
    `the messages from position ${from} to ${to} are missing where the stream was read, and it was not trimmed there: the ` +
      'files of a NATS server are damaged. The node begins anew, at another server if one leads by then; a node that has ' +
      'a later snapshot does not need them',
  )

/** A snapshot did not come to be. It is not one of a stream, as those are told once, and the log goes on the while. */
export const notWritten = (cause: unknown): StateStoreError =>
  new StateStoreError(
    'connection-lost',
    `a snapshot could not be written, and the log grows until one is (the next attempt is in a minute): ${reason(cause)}`,
    { cause },
  )

/** An entry is too large for the log. */
export const tooLarge = (size: number, most: number): LogFailure =>
  new LogFailure('full', `an entry of ${size} bytes is too large for the log of several nodes, which takes ${most}`)

/** The life in which an entry was sent is over, and it is not there. */
export const givenUp = (): LogFailure =>
  new LogFailure('unavailable', 'the log was away for too long; the entry will never be in it')

/** What is wrong with a stream that works: it is not kept as it should be. `undefined` for one that is. */
export function degraded({ first, last, missing = 0, behind = [] }: StreamBounds): StateStoreError | undefined {
  if (missing > 0)
    return damagedError(
      `the stream lacks ${missing} of the messages between the positions ${first} and ${last}: nodes that run have all ` +
        'keys, and one that begins may not get past them until a snapshot is written behind them; dump a node that runs',
    )
  if (behind.length === 0) return undefined
  return new StateStoreError(
    'connection-lost',
    `the log is not kept on all its NATS servers: ${behind.join(', ')} cannot be reached or do not have all of it`,
  )
}
