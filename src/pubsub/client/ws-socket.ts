import type { WebSocket as PackagedSocket } from 'ws'
import { reason } from '../../errors.js'
import type { FrameData } from '../wire/frames.js'
import type { OpenSocket, Socket, SocketHandlers } from './socket.js'

/** How a socket ends that was not opened (RFC 6455, section 7.4.1). */
const ABNORMAL = 1006

/** A half-open link may take two seconds to close, not thirty, in which the process could not end. Types of `ws` lack it. */
const OPTIONS = { followRedirects: false, closeTimeout: 2_000 }

/** Opens the WebSocket of the platform: of browsers and of Node from 22 on, else that of the package `ws`. */
export const openWebSocket: OpenSocket = (url, subprotocol, handlers) => {
  const socket = new LateSocket(handlers)
  create(url, subprotocol).then(
    created => socket.attach(created),
    cause => handlers.closed(ABNORMAL, reason(cause)),
  )
  return socket
}

async function create(url: string, subprotocol: string): Promise<WebSocket | PackagedSocket> {
  if ('WebSocket' in globalThis) return new WebSocket(url, subprotocol)
  const ws = await import('ws')
  return new ws.WebSocket(url, subprotocol, OPTIONS)
}

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
    // Browsers do it by themselves.
    if (this.#socket && 'terminate' in this.#socket) this.#socket.terminate()
  }

  attach(socket: WebSocket | PackagedSocket): void {
    const handlers = this.#handlers
    let problem = ''
    socket.binaryType = 'arraybuffer'
    socket.onopen = () => handlers.opened()
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      handlers.message(data instanceof ArrayBuffer ? new Uint8Array(data) : String(data))
    }
    // Only `ws` says what went wrong, such as the status of an HTTP answer.
    socket.onerror = (event: object) => {
      if ('message' in event) problem = String(event.message)
    }
    socket.onclose = ({ code, reason }: { readonly code: number; readonly reason: string }) => {
      handlers.closed(code, reason || problem)
    }
    this.#socket = socket
    if (this.#ended) socket.close(this.#ended.code)
  }
}

/** Shared memory cannot be sent as it is. */
const isUnshared = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> => bytes.buffer instanceof ArrayBuffer
