import { type BackoffOptions, backoff } from '../../core/util/backoff.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { TAKEN_OVER } from './reason-words.js'

/**
 * When to try again after a lost connection or a failed attempt: ms to wait, or `false` to give up. `attempt` is 1 for
 * the first retry, and again after a connection that held for five seconds. With several addresses it is asked when all of
 * them have failed, and `attempt` counts these rounds.
 */
export type ReconnectStrategy = (attempt: number, cause: StateStoreError) => number | false

/** Exponential backoff with jitter, for ever. */
export const backingOff =
  (options: BackoffOptions): ReconnectStrategy =>
  attempt =>
    backoff(attempt, options)

// Reasons for which the same CONNECT would fail again, or would fight another client for the session (MQTT 5.0,
// section 2.4). 1, 2, 4 and 5 are what brokers before MQTT 5 answer.
const FATAL_REASONS = new Set([
  1, // unacceptable protocol version
  2, // identifier rejected
  4, // bad user name or password
  5, // not authorized
  130, // protocol error
  132, // unsupported protocol version
  133, // client identifier not valid
  134, // bad user name or password
  135, // not authorized
  138, // banned
  140, // bad authentication method
  TAKEN_OVER,
  144, // topic name invalid
  // Of a will, which is ours alone to change; only a store beside a broker has one.
  154, // retain not supported
  155, // QoS not supported
  156, // use another server
  157, // server moved
])

/** Whether a reason code says that another broker would take us. */
export const isElsewhere = (reasonCode: number | undefined): boolean => reasonCode === 156 || reasonCode === 157

/** Whether a reason code of CONNACK or DISCONNECT makes connecting again pointless. */
export const isFatalReason = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && FATAL_REASONS.has(reasonCode)

/** Reasons with which a broker objects to what it was sent (MQTT 5.0, section 2.4). */
const OBJECTIONS: ReadonlySet<number> = new Set([
  129, // malformed packet
  130, // protocol error
  135, // not authorized
  144, // topic name invalid
  148, // topic alias invalid
  149, // packet too large
  153, // payload format invalid
  154, // retain not supported
  155, // QoS not supported
])

/** Returns whether a reason code of DISCONNECT says that the broker ended the connection over something it was sent. */
export const isObjection = (reasonCode: number | undefined): boolean =>
  reasonCode !== undefined && OBJECTIONS.has(reasonCode)
