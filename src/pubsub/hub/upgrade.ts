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

/** Maximum frame of a client, bytes. (Service limits.) */
const LARGEST_FRAME = 1024 * 1024
/** How long a client may take to answer a close frame, ms. */
const CLOSE_TIMEOUT = 2_000

export interface UpgradeHost {
  readonly clock: Clock
  readonly admissions: HandshakeValidator
  readonly doorman: LoginGuard
  /** Network connections without a session. */
  readonly withoutSession: UnauthenticatedConnections
}

/** Upgrades HTTP requests of clients to WebSockets, or refuses them. */
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

  get connections(): number {
    return this.#webSockets.clients.size
  }

  /** Handshakes awaiting authentication. */
  get pending(): number {
    return this.#pendingHandshakes.count
  }

  get refused(): number {
    return this.#refused
  }

  take(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // A stream error affects only its own client.
    stream.on('error', () => undefined)
    const { admissions, doorman } = this.#host
    const settle = (admission: Admission | HandshakeRefusal): void => {
      if ('status' in admission) this.#refuse(stream, admission)
      else this.#accept(request, stream, head, admission)
    }
    const asked = admissions.read(request)
    const address = doorman.addressOf(request)
    if ('status' in asked) settle(asked)
    // A recovering client is already known and does not queue behind unauthenticated ones.
    else if (asked.handshake.claim !== undefined) settle(admissions.recovery(asked, request))
    else if (this.#isStopped || !this.#pendingHandshakes.admits(address)) settle(BUSY)
    else
      void this.#pendingHandshakes
        .wait(stream, address, admissions.admit(asked, request))
        .then((admission = BUSY) => settle(admission))
  }

  /** Refuses new and pending clients. */
  stop(): void {
    this.#isStopped = true
    this.#pendingHandshakes.close()
  }

  /** Waits for clients to answer close frames, then terminates the others. */
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
    // ws responds with the first subprotocol of the request.
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

/** Resolves with `undefined` after the timeout. */
async function within<T>(timeout: number, clock: Clock, promise: Promise<T>): Promise<T | undefined> {
  let cancel = (): void => undefined
  const late = new Promise<undefined>(resolve => {
    cancel = clock.schedule(timeout, () => resolve(undefined))
  })
  return Promise.race([promise, late]).finally(cancel)
}
