import type { BackoffOptions } from '../../core/util/backoff.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { ClientCodec, FrameData, Payload } from '../wire/frames.js'

/** The settings of the state machine. All times are in ms. The `pause` functions inject the randomness. */
export interface MachineSettings {
  readonly codec: ClientCodec
  readonly recoveryWindow: number
  readonly connectTimeout: number
  readonly keepAlive: number
  readonly maxQueued: number
  readonly retries: number
  /** The time limit of a join or leave before it is retried. */
  readonly timeout: number
  /** Returns the delay before a message is resent. The first attempt is 1. */
  readonly pause: (attempt: number) => number
  /** Returns the delay before another recovery attempt. 1 is the delay before the second attempt. */
  readonly recoveryPause: (attempt: number) => number
  readonly reconnectStrategy: ReconnectStrategy
  /** The backoff of the `pause` functions, which also shortens the delays after a connection that held for a while. */
  readonly backoff?: BackoffOptions | undefined
  readonly bufferedBytes: () => number
}

/**
 * Decides when to open a new connection after a session was lost or could not be opened. Returns the ms to wait, or
 * `false` to stop the client with the cause. `attempt` is 1 for the first attempt since a connection last held for five
 * seconds. After a shorter connection it falls by a part. Not called for recoveries, nor for the very first attempt.
 */
export type ReconnectStrategy = (attempt: number, cause: StateStoreError) => number | false

/** A message to send, which is identified by object identity. */
export interface SendRequest {
  readonly frame: OutgoingFrame
  readonly ack: boolean
  readonly timeout: number
  /** Whether to resend the message in a new session when its outcome in the lost session is unknown. */
  readonly atLeastOnce: boolean
}

export type OutgoingFrame =
  | { readonly type: 'sendToGroup'; readonly group: string; readonly payload: Payload; readonly noEcho: boolean }
  | { readonly type: 'event'; readonly event: string; readonly payload: Payload }

/** The outcome of a message that was sent. */
export interface SendResult {
  /** The request's id in the session, or `undefined` without acknowledgement. */
  readonly ackId: bigint | undefined
  /** Whether the hub had processed an earlier copy whose acknowledgement was lost. The message was delivered once. */
  readonly duplicate: boolean
}

export type RequestOutcome =
  | { readonly ok: true; readonly result: SendResult }
  | { readonly ok: false; readonly error: StateStoreError }

/** A message to a group that this client has joined. */
export type GroupMessage = {
  readonly group: string
  /** The user id of the sender, if known. */
  readonly fromUserId: string | undefined
  /** The sequence id in the session, starting at 1. */
  readonly sequenceId: bigint | undefined
} & Payload

/** A message of the application's server. */
export type ServerMessage = { readonly sequenceId: bigint | undefined } & Payload

/**
 * An event of the state machine. `link` numbers a connection attempt and its socket. Events of an earlier link are
 * ignored.
 */
export type MachineEvent =
  | { readonly type: 'start' }
  | { readonly type: 'close' }
  | { readonly type: 'tick' }
  /** The computer slept, so the connection may be dead. */
  | { readonly type: 'woke' }
  | { readonly type: 'url'; readonly link: number; readonly url: unknown }
  | { readonly type: 'urlFailed'; readonly link: number; readonly error: unknown }
  | { readonly type: 'opened'; readonly link: number }
  | { readonly type: 'received'; readonly link: number; readonly data: FrameData }
  | { readonly type: 'closed'; readonly link: number; readonly code: number; readonly reason: string }
  | { readonly type: 'send'; readonly request: SendRequest }
  /** The sender has unsubscribed. */
  | { readonly type: 'forget'; readonly request: SendRequest }
  /** A join. `member` identifies a membership, so that its failure does not affect a later membership. */
  | { readonly type: 'join'; readonly group: string; readonly member: object }
  | { readonly type: 'leave'; readonly group: string }

/** An action. The driver performs actions in order. The times in a status are in machine time. */
export type Action =
  | { readonly type: 'fetchUrl'; readonly link: number }
  | { readonly type: 'open'; readonly link: number; readonly url: string }
  | { readonly type: 'transmit'; readonly data: FrameData }
  /** Closes the socket of the last `open`, whose later events are ignored. */
  | { readonly type: 'close'; readonly code: number | undefined }
  | { readonly type: 'status'; readonly status: PubSubStatus }
  | { readonly type: 'settled'; readonly request: SendRequest; readonly outcome: RequestOutcome }
  | { readonly type: 'groupMessage'; readonly message: GroupMessage }
  | { readonly type: 'serverMessage'; readonly message: ServerMessage }
  /** The group cannot be joined, and the membership has ended. */
  | {
      readonly type: 'groupFailed'
      readonly group: string
      readonly member: object
      readonly error: StateStoreError
    }
  /** The group was rejoined in a new session. Messages published after `since` were missed. */
  | { readonly type: 'gap'; readonly group: string; readonly since: number }
  | { readonly type: 'report'; readonly error: StateStoreError }

/** The connection's state to a hub. All times are wall times in ms since the Unix epoch. */
export type PubSubStatus =
  | { readonly state: 'connecting' }
  | {
      /** The hub confirmed the session by its first frame or, after a recovery, by any frame. */
      readonly state: 'connected'
      readonly connectionId: string
      /** The user id, or `undefined` for an anonymous client. */
      readonly userId: string | undefined
    }
  | {
      /** The socket was lost, but the session is kept. No message is lost if this state ends in `connected`. */
      readonly state: 'recovering'
      /** The time when the socket was lost. */
      readonly since: number
      /**
       * The number of the current or next attempt, which is 1 for the first attempt since a connection last held for
       * five seconds.
       */
      readonly attempt: number
      /** The time when the session's recovery is abandoned. */
      readonly deadline: number
      /** The reason why the socket was lost or the last attempt failed. */
      readonly cause: StateStoreError
    }
  | {
      /** There is no session. Messages published to groups are missed until the groups are rejoined. */
      readonly state: 'disconnected'
      /** The close code of the WebSocket (RFC 6455, section 7.4), if a close ended the session or the attempt. */
      readonly code: number | undefined
      /** The reason given by the hub, or the local error. */
      readonly reason: string
      readonly retryAt: number
      /**
       * The number of the attempt scheduled for `retryAt`, which is 1 for the first attempt since a connection last
       * held for five seconds.
       */
      readonly attempt: number
    }
  | {
      /** The client has ended. This state is final. */
      readonly state: 'stopped'
      readonly code: number | undefined
      readonly reason: string
      /** The cause, or `undefined` if the caller closed the client. */
      readonly cause: StateStoreError | undefined
    }

/** Shifts the times of a status by `offset` ms, from machine time to wall time. */
export function onWallClock(status: PubSubStatus, offset: number): PubSubStatus {
  if (status.state === 'recovering') {
    return { ...status, since: status.since + offset, deadline: status.deadline + offset }
  }
  return status.state === 'disconnected' ? { ...status, retryAt: status.retryAt + offset } : status
}
