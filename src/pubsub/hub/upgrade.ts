import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../core/util/clock.js'
import type { UnauthenticatedConnections } from '../../node/net/unauthenticated-connections.js'
import { type HandshakeRefusal, PendingHandshakes, refuseHandshake } from './handshake.js'
import { type Admission, BUSY, type HandshakeValidator, type LoginGuard } from './handshake-validator.js'
import { ReadAheadRoom, WebSocketLink } from './websocket-link.js'
import { WriteScheduler } from './write-scheduler.js'

/** Largest frame of a client, bytes. (Service limits.) */
const LARGEST_FRAME = 1024 * 1024
/** How long a client may take to answer a close frame, ms. */
const CLOSE_TIMEOUT = 2_000

/** What decides about upgrades. */
export interface UpgradeHost {
  readonly clock: Clock
  readonly admissions: HandshakeValidator
  readonly doorman: LoginGuard
  /** Network connections that have no session. */
  readonly withoutSession: UnauthenticatedConnections
}

/** From the HTTP request of a client to its WebSocket: it is refused, has to wait for who it is, or is let in. */
export class Upgrades {
  readonly #host: UpgradeHost
  readonly #pendingHandshakes: PendingHandshakes
  readonly #webSockets: WebSocketServer
  readonly #writes = new WriteScheduler()
  readonly #room = new ReadAheadRoom()
  #refused = 0
  #isStopped = false

  constructor(host: UpgradeHost) {
    this.#host = host
    this.#pendingHandshakes = new PendingHandshakes(host.clock)
    const settings = { noServer: true, maxPayload: LARGEST_FRAME, closeTimeout: CLOSE_TIMEOUT, autoPong: false }
    this.#webSockets = new WebSocketServer(settings)
  }

  /** WebSockets of clients that were let in. */
  get connections(): number {
    return this.#webSockets.clients.size
  }

  /** Requests for which it is not decided yet who the client is. */
  get pending(): number {
    return this.#pendingHandshakes.count
  }

  /** How many were refused. */
  get refused(): number {
    return this.#refused
  }

  /** Takes the request of a client. */
  take(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // Only its own client is affected.
    stream.on('error', () => undefined)
    const { admissions, doorman } = this.#host
    const settle = (admission: Admission | HandshakeRefusal): void => {
      if ('status' in admission) this.#refuse(stream, admission)
      else this.#accept(request, stream, head, admission)
    }
    const asked = admissions.read(request)
    const address = doorman.addressOf(request)
    if ('status' in asked) settle(asked)
    // A client that comes back is known already, and does not wait behind strangers.
    else if (asked.handshake.claim !== undefined) settle(admissions.recovery(asked, request))
    else if (this.#isStopped || !this.#pendingHandshakes.admits(address)) settle(BUSY)
    else
      void this.#pendingHandshakes
        .wait(stream, address, admissions.admit(asked, request))
        .then((admission = BUSY) => settle(admission))
  }

  /** Lets nobody in any longer. */
  stop(): void {
    this.#isStopped = true
    this.#pendingHandshakes.close()
  }

  /** Waits for clients to answer close frames, and cuts those that do not. */
  async end(): Promise<void> {
    const open = Array.from(this.#webSockets.clients, async socket => once(socket, 'close'))
    await within(CLOSE_TIMEOUT, this.#host.clock, Promise.all(open))
    for (const socket of this.#webSockets.clients) socket.terminate()
  }

  #refuse(stream: Duplex, refusal: HandshakeRefusal): void {
    this.#refused++
    refuseHandshake(stream, refusal)
  }

  #accept(request: IncomingMessage, stream: Duplex, head: Buffer, { name, admits, meter, attach }: Admission): void {
    const refusal = this.#isStopped ? BUSY : admits()
    if (refusal !== undefined) {
      this.#refuse(stream, refusal)
      return
    }
    // ws answers with the first subprotocol of the request.
    request.headers['sec-websocket-protocol'] = name
    this.#webSockets.handleUpgrade(request, stream, head, (socket: WebSocket) => {
      const { withoutSession } = this.#host
      const below = request.socket
      const closing = (): void => withoutSession.add(below)
      const link = new WebSocketLink(socket, stream, this.#writes, this.#room, meter(), closing)
      withoutSession.authenticated(below)
      attach(link)
      if (!link.isBound) closing()
    })
  }
}

/** What a promise settles with, or `undefined` when that takes longer. */
async function within<T>(timeout: number, clock: Clock, promise: Promise<T>): Promise<T | undefined> {
  let cancel = (): void => undefined
  const late = new Promise<undefined>(resolve => {
    cancel = clock.schedule(timeout, () => resolve(undefined))
  })
  return Promise.race([promise, late]).finally(cancel)
}
