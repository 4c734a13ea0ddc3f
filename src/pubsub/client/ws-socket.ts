import type { WebSocket as PackagedSocket } from 'ws'
import { addressTimeout } from '../../core/util/address-timeout.js'
import { isArrayBuffer, isError } from '../../core/util/built-in-types.js'
import { reason } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import type { FrameData } from '../wire/frames.js'

/** The close code of a socket that did not open (RFC 6455, section 7.4.1). */
const ABNORMAL_CLOSURE = 1006

/**
 * The options of `ws`. They limit the close of a half-open link, which keeps the process alive, to 2 s. The types of
 * `ws` lack `closeTimeout`.
 */
const SOCKET_OPTIONS = { followRedirects: false, closeTimeout: 2_000 }

/**
 * Returns a function that opens the platform's WebSocket or, in Node, a WebSocket of the package `ws`. The WebSocket of Node 22 and 24 cannot
 * be terminated if the peer does not answer its close frame, and would keep the process alive.
 */
export const webSocketOpener = (connectTimeoutMs: number): OpenSocket => {
  let failedAttempts = 0
  return (url, subprotocol, handlers) => {
    const opened = (): void => {
      failedAttempts = 0
      handlers.opened()
    }
    const socket = new DeferredSocket({ ...handlers, opened })
    create(url, subprotocol, addressTimeout(connectTimeoutMs, failedAttempts++)).then(
      created => socket.attach(created),
      // Platforms quote an address that they reject.
      cause => handlers.closed(ABNORMAL_CLOSURE, reason(cause).replaceAll(url, formatUrl(url))),
    )
    return socket
  }
}

async function create(
  url: string,
  subprotocol: string,
  autoSelectFamilyAttemptTimeout: number,
): Promise<WebSocket | PackagedSocket> {
  if ('WebSocket' in globalThis && !isNode()) return new WebSocket(url, subprotocol)
  const ws = await import('ws')
  const options = { ...SOCKET_OPTIONS, autoSelectFamilyAttemptTimeout }
  return new ws.WebSocket(url, subprotocol, options)
}

/** Returns whether this is Node, which has a navigator since version 21 and a WebSocket since version 22. */
const isNode = (): boolean => globalThis.navigator?.userAgent?.startsWith('Node.js/') === true

class DeferredSocket implements Socket {
  readonly #handlers: SocketHandlers
  #socket: WebSocket | PackagedSocket | undefined
  #closeRequest: { readonly code: number | undefined } | undefined

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
    this.#closeRequest = { code }
    this.#socket?.close(code)
  }

  terminate(): void {
    // The sockets of browsers have no `terminate`: after `close`, the browser ends the connection.
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
      handlers.message(isArrayBuffer(data) ? new Uint8Array(data) : String(data))
    }
    // Browsers hide the details of a failure, such as the HTTP status. An error's message is empty if several
    // addresses of the host failed.
    socket.onerror = (event: object) => {
      if ('error' in event && isError(event.error)) problem = reason(event.error)
      else if ('message' in event) problem = String(event.message)
      // Node 22 emits no `close` if opening fails, unlike the HTML standard.
      if (state === 'opening') end(ABNORMAL_CLOSURE, '')
    }
    socket.onclose = ({ code, reason }: { readonly code: number; readonly reason: string }) => end(code, reason)
    this.#socket = socket
    if (this.#closeRequest) socket.close(this.#closeRequest.code)
  }
}

/** `WebSocket.send` rejects views of shared memory. */
const isUnshared = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> => isArrayBuffer(bytes.buffer)

/** A socket's callbacks. They are never called before {@link OpenSocket} has returned. */
export interface SocketHandlers {
  opened(): void
  message(data: FrameData): void
  /** Called once and last, when the socket has closed or failed to open. `reason` may be empty. */
  closed(code: number, reason: string): void
}

export interface Socket {
  readonly bufferedAmount: number
  /** Sends a frame. Must be called only between `opened` and `closed`. */
  send(data: FrameData): void
  /** Closes the socket with code 1000 or 3000 to 4999, or without a code. Idempotent at any time. */
  close(code?: number): void
  /** Terminates a socket whose close is unanswered, if the platform supports it. */
  terminate(): void
}

/** Opens a WebSocket with one subprotocol. Reports failures to `closed` and never throws. */
export type OpenSocket = (url: string, subprotocol: string, handlers: SocketHandlers) => Socket
