import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../core/util/clock.js'
import { settleWithin } from '../../core/util/wait.js'
import { TurnScheduler } from '../../node/limits/turn-scheduler.js'
import type { UnauthenticatedConnections } from '../../node/net/unauthenticated-connections.js'
import { type HandshakeRefusal, PendingHandshakes, refuseHandshake } from './handshake.js'
import { type Admission, BUSY, type HandshakeValidator, type LoginGuard } from './handshake-validator.js'
import { ReadAheadBudget, WebSocketLink } from './websocket-link.js'

/** The maximum size in bytes of a client's frame. (Service limits.) */
const MAX_FRAME_BYTES = 1024 * 1024
const CLOSE_TIMEOUT_MS = 2_000

export interface UpgradeHost {
  readonly clock: Clock
  readonly validator: HandshakeValidator
  readonly loginGuard: LoginGuard
  readonly unauthenticated: UnauthenticatedConnections
  /** Called with internal errors of links, which end their connections. */
  readonly onError: (error: unknown) => void
}

/** Upgrades HTTP requests of clients to WebSockets, or refuses them. */
export class Upgrades {
  readonly #host: UpgradeHost
  readonly #pendingHandshakes: PendingHandshakes
  readonly #webSockets: WebSocketServer
  readonly #scheduler: TurnScheduler
  readonly #readAheadBudget = new ReadAheadBudget()
  #refused = 0
  #isStopped = false

  constructor(host: UpgradeHost) {
    this.#host = host
    this.#scheduler = new TurnScheduler(host.clock, host.onError)
    this.#pendingHandshakes = new PendingHandshakes(host.clock)
    const settings = { noServer: true, maxPayload: MAX_FRAME_BYTES, closeTimeout: CLOSE_TIMEOUT_MS, autoPong: false }
    this.#webSockets = new WebSocketServer(settings)
  }

  get connections(): number {
    return this.#webSockets.clients.size
  }

  get pending(): number {
    return this.#pendingHandshakes.count
  }

  get refused(): number {
    return this.#refused
  }

  handle(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // A stream error affects only its own client.
    stream.on('error', () => undefined)
    const { validator, loginGuard } = this.#host
    const settle = (admission: Admission | HandshakeRefusal): void => {
      if ('status' in admission) this.#refuse(stream, admission)
      else this.#accept(request, stream, head, admission)
    }
    const handshakeRequest = validator.read(request)
    const address = loginGuard.addressOf(request)
    if ('status' in handshakeRequest) settle(handshakeRequest)
    // A recovering client is already known and does not queue after unauthenticated clients.
    else if (handshakeRequest.handshake.claim !== undefined) settle(validator.recovery(handshakeRequest, request))
    else if (this.#isStopped || !this.#pendingHandshakes.hasRoomFor(address)) settle(BUSY)
    else
      void this.#pendingHandshakes
        .wait(stream, address, validator.admit(handshakeRequest, request))
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
    await settleWithin(CLOSE_TIMEOUT_MS, this.#host.clock, Promise.all(open))
    for (const socket of this.#webSockets.clients) socket.terminate()
  }

  #refuse(stream: Duplex, refusal: HandshakeRefusal): void {
    this.#refused++
    refuseHandshake(stream, refusal)
  }

  #accept(
    request: IncomingMessage,
    stream: Duplex,
    head: Buffer,
    { name, checkLimits: admits, meter, attach }: Admission,
  ): void {
    const refusal = this.#isStopped ? BUSY : admits()
    if (refusal !== undefined) {
      this.#refuse(stream, refusal)
      return
    }
    // `ws` responds with the first subprotocol of the request.
    request.headers['sec-websocket-protocol'] = name
    this.#webSockets.handleUpgrade(request, stream, head, (socket: WebSocket) => {
      const { unauthenticated } = this.#host
      const connection = request.socket
      const onClosing = (): void => unauthenticated.add(connection)
      const link = new WebSocketLink(socket, stream, this.#scheduler, this.#readAheadBudget, meter(), onClosing)
      unauthenticated.onAuthenticated(connection)
      attach(link)
      if (!link.isBound) onClosing()
    })
  }
}
