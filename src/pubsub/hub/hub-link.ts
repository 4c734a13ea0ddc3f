import type { FrameData } from '../wire/frames.js'

/**
 * One network connection, as the rules of the hub see it. None of its methods but `release` calls back before it returns,
 * and none raises an error: a link that is broken already swallows what it is given.
 */
export interface HubLink {
  /** Whether it takes a message of so many bytes now. After a `false` the hub is told when to ask again. */
  takes(bytes: number): boolean
  send(frame: FrameData): void
  /** Asks the other side for a sign of life below the subprotocol. */
  ping(): void
  /** Ends it in good order. */
  close(code: CloseCode, reason: string): void
  /** Cuts it without a word. */
  terminate(): void
  /** Takes no more frames for now; `false` when it does all the same, for it is closed and hands over what is left. */
  hold(): boolean
  /** Takes frames again. */
  release(): void
  /** Whether nothing is read from it at present, not even acknowledgements. */
  readonly isDeaf: boolean
}

/** WebSocket close codes that mean something to clients (client specification, "Close codes"; RFC 6455, section 7.4). */
export const CLOSE = {
  /** Ended on purpose. */
  normal: 1000,
  /** The session is kept: recover it. */
  goingAway: 1001,
  /** Not the kind of WebSocket message that the subprotocol has. */
  wrongKind: 1003,
  malformed: 1007,
  /** The session is gone, or never was: begin a new one. */
  policy: 1008,
} as const

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE]
