import type { FrameData } from '../wire/frames.js'

/** What a socket reports. Never called before {@link OpenSocket} has returned. */
export interface SocketHandlers {
  opened(): void
  message(data: FrameData): void
  /** The socket is closed, or could not be opened. Called once, nothing comes after it. `reason` may be empty. */
  closed(code: number, reason: string): void
}

/** A WebSocket as the client needs it. */
export interface Socket {
  /** Bytes that were handed over and have not left yet. */
  readonly bufferedAmount: number
  /** Only between `opened` and `closed`. */
  send(data: FrameData): void
  /** Closes with a code, 1000 or 3000 to 4999, or without any. May be called at any time, and again. */
  close(code?: number): void
  /** Abandons a socket that was closed and waits for an answer in vain, where the platform can do that. */
  terminate(): void
}

/** Opens a WebSocket and offers one subprotocol. A failure is reported by `closed`, never thrown. */
export type OpenSocket = (url: string, subprotocol: string, handlers: SocketHandlers) => Socket
