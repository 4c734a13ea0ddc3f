import type { WebSocket as PackagedSocket } from 'ws'
import { reason } from '../../core/util/errors.js'
import type { FrameData } from '../wire/frames.js'

/** How a socket ends that was not opened (RFC 6455, section 7.4.1). */
const ABNORMAL = 1006

/** A half-open link may take two seconds to close, not thirty, during which the process could not end. The types of `ws` lack it. */
const OPTIONS = { followRedirects: false, closeTimeout: 2_000 }

/**
 * Opens the WebSocket of the platform, but in Node of any version that of the package `ws`: the one built into Node 22
 * and 24 cannot be abandoned when the other side does not answer its close frame, and would keep the process alive.
 */
export const openWebSocket: OpenSocket = (url, subprotocol, handlers) => {
  const socket = new LateSocket(handlers)
  create(url, subprotocol).then(
    created => socket.attach(created),
    cause => handlers.closed(ABNORMAL, reason(cause)),
  )
  return socket
}

async function create(url: string, subprotocol: string): Promise<WebSocket | PackagedSocket> {
  if ('WebSocket' in globalThis && !isNode()) return new WebSocket(url, subprotocol)
  const ws = await import('ws')
  return new ws.WebSocket(url, subprotocol, OPTIONS)
}

/** Node has a WebSocket since version 22, and a navigator since version 21. */
const isNode = (): boolean => globalThis.navigator?.userAgent?.startsWith('Node.js/') === true

/** A socket that can be closed before it is there. */
class LateSocket implements Socket {
  readonly #handlers: SocketHandlers
  #socket: WebSocket | PackagedSocket | undefined
  #ended: { readonly code: number | undefined } | undefined

  constructor(handlers: SocketHandlers) {
    this.#handlers = handlers
  }

  get bufferedAmount(): number {
    return this.#socket?.bufferedAmount ?? 0
  }

  send(data: FrameData): void {
    this.#socket?.send(typeof data === 'string' || isUnshared(data) ? data : new Uint8Array(data))
  }

  close(code?: number): void {
    this.#ended = { code }
    this.#socket?.close(code)
  }

  terminate(): void {
    // Browsers give up by themselves.
    if (this.#socket && 'terminate' in this.#socket) this.#socket.terminate()
  }

  attach(socket: WebSocket | PackagedSocket): void {
    const handlers = this.#handlers
    let problem = ''
    let state: 'opening' | 'open' | 'closed' = 'opening'
    const end = (code: number, reason: string): void => {
      if (state === 'closed') return
      state = 'closed'
      handlers.closed(code, reason || problem)
    }
    socket.binaryType = 'arraybuffer'
    socket.onopen = () => {
      if (state !== 'opening') return
      state = 'open'
      handlers.opened()
    }
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      handlers.message(data instanceof ArrayBuffer ? new Uint8Array(data) : String(data))
    }
    // Browsers do not say what went wrong, such as the status of an HTTP answer.
    socket.onerror = (event: object) => {
      if ('message' in event) problem = String(event.message)
      // Node 22 tells nothing more when it cannot be opened (in the HTML standard a `close` follows).
      if (state === 'opening') end(ABNORMAL, '')
    }
    socket.onclose = ({ code, reason }: { readonly code: number; readonly reason: string }) => end(code, reason)
    this.#socket = socket
    if (this.#ended) socket.close(this.#ended.code)
  }
}

/** Shared memory cannot be sent as it is. */
const isUnshared = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> => bytes.buffer instanceof ArrayBuffer

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
