import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'

export const JSON_PROTOCOL = 'json.reliable.webpubsub.azure.v1'

export type RawFrame = Readonly<Record<string, unknown>>

export interface RawClose {
  readonly code: number
  readonly reason: string
}

/** A JSON client that follows no rules: it sends and records raw frames. */
export class RawPubSubClient {
  readonly socket: WebSocket
  readonly frames: RawFrame[] = []
  readonly closed: Promise<RawClose>
  readonly #waiting = new Set<() => void>()
  #end: RawClose | undefined
  #ackId = 0

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('error', () => undefined)
    socket.on('message', data => {
      this.frames.push(JSON.parse(String(data)))
      this.#wake()
    })
    this.closed = new Promise(resolve => {
      socket.once('close', (code, reason) => {
        this.#end = { code, reason: reason.toString() }
        resolve(this.#end)
        this.#wake()
      })
    })
  }

  /** Opens a socket, which is closed at the end of the test. Rejects with the HTTP response, such as `401 text`. */
  static async open(url: string, protocols: string | readonly string[] = JSON_PROTOCOL): Promise<RawPubSubClient> {
    const socket = new WebSocket(url, typeof protocols === 'string' ? [protocols] : [...protocols])
    onTestFinished(() => socket.terminate())
    const client = new RawPubSubClient(socket)
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => resolve())
      socket.once('error', reject)
      socket.once('unexpected-response', (_request, response) => {
        let text = ''
        response.on('data', data => {
          text += String(data)
        })
        response.on('end', () => reject(new Error(`${response.statusCode} ${text.trim()}`)))
      })
    })
    return client
  }

  /** Opens a socket and waits for the `connected` frame. */
  static async connect(url: string): Promise<RawPubSubClient> {
    const client = await RawPubSubClient.open(url)
    await client.waitForFrame(frame => frame['event'] === 'connected')
    return client
  }

  /** Recovers the session of another client. */
  static async recover(url: string, former: RawPubSubClient): Promise<RawPubSubClient> {
    return RawPubSubClient.open(recoveryUrl(url, former.connectionId, former.reconnectionToken))
  }

  get connectionId(): string {
    return String(this.frames.find(frame => frame['event'] === 'connected')?.['connectionId'])
  }

  get reconnectionToken(): string {
    return String(this.frames.find(frame => frame['event'] === 'connected')?.['reconnectionToken'])
  }

  /** The frames with data, in order of arrival. */
  get messages(): readonly RawFrame[] {
    return this.frames.filter(frame => frame['type'] === 'message')
  }

  get sequenceIds(): readonly unknown[] {
    return this.messages.map(message => message['sequenceId'])
  }

  send(frame: RawFrame | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }

  /** Sends a frame with a new ackId and waits for its ack. */
  async request(frame: RawFrame): Promise<RawFrame> {
    const ackId = ++this.#ackId
    this.send({ ...frame, ackId })
    return this.waitForFrame(answer => answer['type'] === 'ack' && answer['ackId'] === ackId)
  }

  async join(group: string): Promise<void> {
    await this.request({ type: 'joinGroup', group })
  }

  /** Resolves with the first matching frame, past or future. */
  async waitForFrame(matches: (frame: RawFrame) => boolean): Promise<RawFrame> {
    for (;;) {
      const found = this.frames.find(matches)
      if (found !== undefined) return found
      await this.#next()
    }
  }

  /** Resolves when this many messages have arrived. */
  async received(count: number): Promise<readonly RawFrame[]> {
    while (this.messages.length < count) await this.#next()
    return this.messages
  }

  /** Resolves when everything the hub has sent so far has arrived. */
  async settled(): Promise<void> {
    const pongs = this.frames.filter(frame => frame['type'] === 'pong').length
    this.send({ type: 'ping' })
    while (this.frames.filter(frame => frame['type'] === 'pong').length === pongs) await this.#next()
  }

  /** Closes the connection without a close frame. */
  cut(): void {
    this.socket.terminate()
  }

  async #next(): Promise<void> {
    if (this.#end !== undefined) throw new Error(`Closed with ${this.#end.code} ${this.#end.reason}`)
    await new Promise<void>(resolve => this.#waiting.add(resolve))
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}

/** Returns the URL that recovers a session. */
export function recoveryUrl(url: string, connectionId: string, token: string): string {
  const { origin, pathname } = new URL(url)
  const query = new URLSearchParams({ awps_connection_id: connectionId, awps_reconnection_token: token })
  // Some browsers report the origin `null` for a WebSocket URL.
  return `${origin}${pathname}?${query}`
}
