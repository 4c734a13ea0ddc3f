import type { Page } from 'playwright-core'
import { fromBase64, toBase64 } from '../../../../src/pubsub/wire/json-frame.js'

type SocketEvent =
  | { readonly type: 'open' }
  | { readonly type: 'error' }
  | { readonly type: 'message'; readonly text: string | undefined; readonly base64: string }
  | { readonly type: 'close'; readonly code: number; readonly reason: string }

/** Runs in the page: creates numbered sockets and reports their events. */
function host(): void {
  const sockets = new Map<number, WebSocket>()
  const base64 = (data: ArrayBuffer): string =>
    btoa(Array.from(new Uint8Array(data), byte => String.fromCharCode(byte)).join(''))
  // Events that arrive during a report are sent together.
  const waiting: unknown[] = []
  let isReporting = false
  const flush = async (): Promise<void> => {
    for (isReporting = true; waiting.length > 0; ) await Reflect.get(window, 'reportSocketEvents')(waiting.splice(0))
    isReporting = false
  }
  const queueEvent = (id: number, event: unknown): void => {
    waiting.push([id, event])
    if (!isReporting) void flush()
  }
  const open = (id: number, url: string, protocol: string): void => {
    const socket = new WebSocket(url, protocol)
    sockets.set(id, socket)
    socket.binaryType = 'arraybuffer'
    socket.onopen = () => queueEvent(id, { type: 'open' })
    socket.onerror = () => queueEvent(id, { type: 'error' })
    socket.onclose = ({ code, reason }) => queueEvent(id, { type: 'close', code, reason })
    socket.onmessage = ({ data }) =>
      typeof data === 'string'
        ? queueEvent(id, { type: 'message', text: data, base64: '' })
        : queueEvent(id, { type: 'message', base64: base64(data) })
  }
  const send = (id: number, text: string | undefined, bytes: string): void =>
    sockets.get(id)?.send(text ?? Uint8Array.from(atob(bytes), char => char.charCodeAt(0)))
  const close = (id: number, code: number | undefined): void => sockets.get(id)?.close(code)
  Object.assign(window, { hosted: { open, send, close } })
}

/**
 * Returns a WebSocket class whose instances live in a page, for code that runs here. Behaviour and events are those of
 * the browser.
 *
 * @param opened - called for each instance
 */
export async function socketsOf(
  page: Page,
  opened: () => void,
): Promise<new (url: string, protocol: string) => object> {
  const sockets: PageSocket[] = []
  await page.exposeFunction('reportSocketEvents', (events: readonly (readonly [number, SocketEvent])[]) => {
    for (const [id, event] of events) sockets[id]?.onEvent(event)
  })
  await page.evaluate(host)
  const calls: (readonly [string, readonly unknown[]])[] = []
  let isCalling = false
  const work = async (): Promise<void> => {
    for (isCalling = true; calls.length > 0; )
      await page.evaluate(
        some => some.map(([name, given]) => Reflect.get(window, 'hosted')[name](...given)),
        calls.splice(0),
      )
    isCalling = false
  }
  const call = (method: string, ...values: readonly unknown[]): void => {
    calls.push([method, values])
    // Sockets that a test leaves open end with the page.
    if (!isCalling) work().catch(error => (page.isClosed() ? undefined : Promise.reject(error)))
  }
  return class extends PageSocket {
    constructor(url: string, protocol: string) {
      super((method, ...values) => call(method, id, ...values))
      const id = sockets.push(this) - 1
      call('open', id, url, protocol)
      opened()
    }
  }
}

class PageSocket {
  binaryType = 'arraybuffer'
  readonly bufferedAmount = 0
  onopen: (() => void) | undefined
  onerror: ((event: object) => void) | undefined
  onmessage: ((event: { readonly data: string | ArrayBuffer }) => void) | undefined
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | undefined
  readonly #call: (method: string, ...values: readonly unknown[]) => void

  constructor(call: (method: string, ...values: readonly unknown[]) => void) {
    this.#call = call
  }

  send(data: string | Uint8Array): void {
    if (typeof data === 'string') this.#call('send', data, '')
    else this.#call('send', undefined, toBase64(data))
  }

  close(code?: number): void {
    this.#call('close', code)
  }

  onEvent(event: SocketEvent): void {
    if (event.type === 'open') this.onopen?.()
    else if (event.type === 'error') this.onerror?.({})
    else if (event.type === 'close') this.onclose?.(event)
    else this.onmessage?.({ data: event.text ?? Uint8Array.from(fromBase64(event.base64) ?? []).buffer })
  }
}
