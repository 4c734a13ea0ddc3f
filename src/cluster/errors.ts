import { reason, StateStoreError } from '../base/errors.js'
import { damaged } from '../log/errors.js'
import { LogFailure } from '../log/log.js'

declare module '../base/errors.js' {
  interface ErrorCodes {
    /** Nodes of a store have come to different states from the same log. */
    diverged: true
    /** Another node took the place of this one, by its name. */
    superseded: true
  }
}

/** What every node has to do alike was not done alike. */
export const diverged = (sender: string, position: number): StateStoreError =>
  new StateStoreError(
    'diverged',
    `the node ${sender} has another state than this one at position ${position} of the log: one of them is damaged, or ` +
      'they are of versions that do not go together; both have to be stopped, and one to be trusted',
  )

/** Another process has this node's name. */
export const superseded = (nodeId: string): StateStoreError =>
  new StateStoreError(
    'superseded',
    `another node has the id ${nodeId} and took the place of this one: every node needs an id of its own`,
  )

/** The stream has lost what it had. */
export const rolledBack = (position: number, known: number): StateStoreError =>
  damaged(
    `the stream gave a new message the position ${position}, though it had come to ${known}: it has lost what it had ` +
      'acknowledged, or is another one',
  )

/** Something in the stream is no message of a node; it counts for nobody. */
export const foreign = (position: number): StateStoreError =>
  damaged(`the message at position ${position} of the stream is none of a node, or damaged; all nodes ignore it`)

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
