import type { StateStoreError } from '../../core/util/errors.js'
import type { ClientCodec, FrameData, Payload } from '../wire/frames.js'

/** How a machine behaves. Times in ms. Chance comes in through the pauses. */
export interface MachineSettings {
  readonly codec: ClientCodec
  /** All attempts to recover a session together. */
  readonly recoveryWindow: number
  /** From the beginning of an attempt to the hub's first frame. */
  readonly connectTimeout: number
  /** Silence after which a link is dead; after half of it the hub is asked for a sign of life. */
  readonly keepAlive: number
  /** Most messages held: waiting, or not acknowledged. Of at most 64 MiB together. */
  readonly maxQueued: number
  /** How often a message is sent again after `InternalServerError`. */
  readonly retries: number
  /** ms a join or leave may take before it is asked for again. */
  readonly timeout: number
  /** Pause before a message is sent again; 1 for the first. */
  readonly pause: (attempt: number) => number
  /** Pause before another attempt to recover a session; 1 for the second attempt. */
  readonly recoveryPause: (attempt: number) => number
  /** Pause before a new connection; `false` ends the machine. */
  readonly reconnectStrategy: ReconnectStrategy
  /** Bytes the socket has not sent yet. */
  readonly backlog: () => number
}

/**
 * When to open a new connection after a session was lost or could not be opened: ms to wait, or `false` to give up, which
 * stops the client with the cause. `attempt` is 1 for the first since the connection last held for five seconds. Not
 * asked for recoveries, nor for the very first attempt.
 */
export type ReconnectStrategy = (attempt: number, cause: StateStoreError) => number | false

/** A message to send; its identity names it. */
export interface SendRequest {
  readonly frame: OutgoingFrame
  /** Whether the hub is to answer. */
  readonly ack: boolean
  /** ms until it has failed, wherever it is by then. */
  readonly timeout: number
  /** Send it again in another session when its fate in this one is unknown. */
  readonly atLeastOnce: boolean
}

/** A message before it has an id. */
export type OutgoingFrame =
  | { readonly type: 'sendToGroup'; readonly group: string; readonly payload: Payload; readonly noEcho: boolean }
  | { readonly type: 'event'; readonly event: string; readonly payload: Payload }

/** What became of a message that did not fail. */
export interface SendResult {
  /** Its number in the session; missing without acknowledgement. */
  readonly ackId: bigint | undefined
  /** The hub had it already: an earlier copy was processed, and its answer lost. It was delivered once. */
  readonly duplicate: boolean
}

/** How a request ended. */
export type RequestOutcome =
  | { readonly ok: true; readonly result: SendResult }
  | { readonly ok: false; readonly error: StateStoreError }

/** A message of a group. */
export type GroupMessage = {
  readonly group: string
  /** Who sent it, if known. */
  readonly fromUserId: string | undefined
  /** Its number in the session, from 1. */
  readonly sequenceId: bigint | undefined
} & Payload

/** A message of the application's server. */
export type ServerMessage = { readonly sequenceId: bigint | undefined } & Payload

/** A link is one attempt to connect and the socket it leads to; events of an earlier one are late, and ignored. */
export type MachineEvent =
  | { readonly type: 'start' }
  | { readonly type: 'close' }
  /** A deadline has come. */
  | { readonly type: 'tick' }
  /** The computer has slept: what was alive may be dead. */
  | { readonly type: 'woke' }
  | { readonly type: 'url'; readonly link: number; readonly url: unknown }
  | { readonly type: 'urlFailed'; readonly link: number; readonly error: unknown }
  | { readonly type: 'opened'; readonly link: number }
  | { readonly type: 'received'; readonly link: number; readonly data: FrameData }
  | { readonly type: 'closed'; readonly link: number; readonly code: number; readonly reason: string }
  | { readonly type: 'send'; readonly request: SendRequest }
  /** Its sender does not wait for it any more. */
  | { readonly type: 'forget'; readonly request: SendRequest }
  /** The identity of a member names a membership, so that its failure does not hit a later one. */
  | { readonly type: 'join'; readonly group: string; readonly member: object }
  | { readonly type: 'leave'; readonly group: string }

/** What to do, in this order. Times in a status are those of the machine. */
export type Action =
  /** Ask for a fresh URL. */
  | { readonly type: 'fetchUrl'; readonly link: number }
  | { readonly type: 'open'; readonly link: number; readonly url: string }
  | { readonly type: 'transmit'; readonly data: FrameData }
  /** Close the socket of the last `open`; its later events are ignored. */
  | { readonly type: 'close'; readonly code: number | undefined }
  | { readonly type: 'status'; readonly status: PubSubStatus }
  | { readonly type: 'settled'; readonly request: SendRequest; readonly outcome: RequestOutcome }
  | { readonly type: 'groupMessage'; readonly message: GroupMessage }
  | { readonly type: 'serverMessage'; readonly message: ServerMessage }
  /** The group cannot be joined, and is not any more. */
  | {
      readonly type: 'groupFailed'
      readonly group: string
      readonly member: object
      readonly error: StateStoreError
    }
  /** The group was joined again in another session; what was published since then is lost. */
  | { readonly type: 'gap'; readonly group: string; readonly since: number }
  | { readonly type: 'report'; readonly error: StateStoreError }

/** State of the connection to a hub. Times are wall times, ms since the Unix epoch. */
export type PubSubStatus =
  | { readonly state: 'connecting' }
  | {
      /** The hub has confirmed the session: by its first frame, or after a recovery by any. */
      readonly state: 'connected'
      readonly connectionId: string
      /** Missing for an anonymous client. */
      readonly userId: string | undefined
    }
  | {
      /** The socket is gone; the session, its groups and its messages are not. Nothing is lost if this ends in `connected`. */
      readonly state: 'recovering'
      /** When the socket was lost. */
      readonly since: number
      /** The attempt under way or due; 1 for the first since the connection last held for five seconds. */
      readonly attempt: number
      /** When the session is given up. */
      readonly deadline: number
      /** Why the socket was lost, or why the last attempt failed. */
      readonly cause: StateStoreError
    }
  | {
      /** There is no session: messages published from now on are missed until the groups are joined again. */
      readonly state: 'disconnected'
      /** Close code of the WebSocket (RFC 6455, section 7.4), if it was one that ended session or attempt. */
      readonly code: number | undefined
      /** What the hub gave as reason, or what went wrong. */
      readonly reason: string
      readonly retryAt: number
      /** The attempt that is due then; 1 for the first since the connection last held for five seconds. */
      readonly attempt: number
    }
  | {
      /** The client has ended; the last state. */
      readonly state: 'stopped'
      readonly code: number | undefined
      readonly reason: string
      /** Missing when closed on purpose. */
      readonly cause: StateStoreError | undefined
    }

/** Moves the times of a status by `offset` ms, from one clock to another. */
export function onWallClock(status: PubSubStatus, offset: number): PubSubStatus {
  if (status.state === 'recovering') {
    return { ...status, since: status.since + offset, deadline: status.deadline + offset }
  }
  return status.state === 'disconnected' ? { ...status, retryAt: status.retryAt + offset } : status
}
