import type { FrameData } from '../wire/frames.js'

/** A network connection. Only `release` may call back synchronously. The methods never throw. */
export interface HubLink {
  /** Returns whether a message of this size may be sent now. After `false`, the link notifies the hub when to retry. */
  canSend(bytes: number): boolean
  send(frame: FrameData): void
  ping(): void
  close(code: CloseCode, reason: string): void
  /** Closes the connection without a close frame. */
  terminate(): void
  /**
   * Stops processing frames. Returns `false` if the link is closed, because it then still delivers its remaining
   * frames.
   */
  hold(): boolean
  release(): void
  /** Whether the hub reads nothing from the link, not even acknowledgements. */
  readonly isReadPaused: boolean
}

/**
 * The WebSocket close codes that have a meaning for clients (client specification, "Close codes"; RFC 6455, section
 * 7.4).
 */
export const CLOSE = {
  /** The session ended on purpose. */
  normal: 1000,
  /** The session is kept, and can be recovered. */
  goingAway: 1001,
  /** The client sent text instead of binary messages, or the reverse. */
  unsupportedData: 1003,
  malformed: 1007,
  /** The session does not exist, and the client must begin a new session. */
  policy: 1008,
} as const

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE]
