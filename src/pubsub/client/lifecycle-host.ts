import type { ClosedError } from '../../core/util/errors.js'
import type { DownFrame } from '../wire/frames.js'
import type { Action } from './events.js'

/** What else depends on the connection. */
export interface LifecycleHost {
  readonly act: (action: Action) => void
  /** The hub listens: in a new session, or in the recovered one. */
  readonly resumed: (now: number) => void
  /** A fresh id for a request. */
  readonly nextId: () => bigint
  /** The socket is gone. */
  readonly suspended: () => void
  /** The session is gone; the hub was heard last at `since`. */
  readonly sessionLost: (since: number, now: number) => void
  readonly stopped: (error: ClosedError, now: number) => void
}

/** The first frame of a session. */
export type Connected = Extract<DownFrame, { type: 'connected' }>

/** A session that is to be got back. */
export interface Recovery {
  readonly since: number
  readonly deadline: number
  readonly heardAt: number
  /** What the hub said before it closed: why the session may be gone. */
  readonly farewell: string
}
