import type { Socket, SocketHandlers } from '../../../src/pubsub/client/ws-socket.js'
import type { CloseCode, HubLink } from '../../../src/pubsub/hub/hub-link.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'
import { Pipe, type SimulationContext } from './pipe.js'

/** The close code of a lost socket and of a close frame without a code (RFC 6455, section 7.4.1). */
const ABNORMAL_CLOSURE = 1006
const NO_CODE = 1005
/** The time that a client waits for the close frame of the hub, in ms. */
const CLOSE_TIMEOUT_MS = 1_500
/** The bytes per unsent frame. A client may buffer four frames before it must wait. */
const BYTES_PER_FRAME = 300_000

/** Callbacks of the hub for a connection. */
export interface HubListener {
  receive(data: FrameData): void
  alive(): void
  drained(): void
  gone(code: number): void
}

/** A WebSocket between a client and the hub, with its two ends. */
export class Wire {
  readonly near: NearEnd
  readonly far: FarEnd
  readonly up: Pipe
  readonly down: Pipe
  readonly #context: SimulationContext
  /** The time at which frames stopped arriving permanently, in ms. */
  deadSince: number | undefined
  #cut = false

  constructor(context: SimulationContext, handlers: SocketHandlers) {
    this.#context = context
    this.up = new Pipe(context, () => this.cut())
    this.down = new Pipe(
      context,
      () => this.cut(),
      () => this.far.listener?.drained(),
    )
    this.near = new NearEnd(this, context, handlers)
    this.far = new FarEnd(this, context)
  }

  /** Breaks the connection. Both sides detect this after their own delays. */
  cut(): void {
    if (this.#cut) return
    this.#cut = true
    this.silence('both')
    const { time, random, conditions } = this.#context
    time.after(random.int(0, conditions.clientNotice), () => this.near.ended(ABNORMAL_CLOSURE, ''))
    time.after(random.int(0, conditions.hubNotice), () => this.far.ended(ABNORMAL_CLOSURE))
  }

  /** Makes the connection half-open, so that data vanishes and neither side is notified. */
  silence(direction: 'up' | 'down' | 'both'): void {
    this.deadSince ??= this.#context.time.now
    if (direction !== 'down') this.up.isDead = true
    if (direction !== 'up') this.down.isDead = true
  }
}

/** The end of the client. */
export class NearEnd implements Socket {
  isClosing = false
  readonly #wire: Wire
  readonly #context: SimulationContext
  readonly #handlers: SocketHandlers
  #open = true

  constructor(wire: Wire, context: SimulationContext, handlers: SocketHandlers) {
    this.#wire = wire
    this.#context = context
    this.#handlers = handlers
  }

  get bufferedAmount(): number {
    return this.#wire.up.inFlight * BYTES_PER_FRAME
  }

  opened(): void {
    if (this.#open) this.#handlers.opened()
  }

  send(data: FrameData): void {
    if (this.#open && !this.isClosing) this.#wire.up.push(() => this.#wire.far.take(data))
  }

  close(code: number = NO_CODE): void {
    if (this.isClosing) return
    this.isClosing = true
    if (!this.#open) return
    this.#wire.up.push(() => {
      this.#wire.far.ended(code)
      this.#wire.down.push(() => this.ended(code, ''))
    })
    this.#context.time.after(CLOSE_TIMEOUT_MS, () => {
      this.ended(ABNORMAL_CLOSURE, '')
      this.#wire.cut()
    })
  }

  terminate(): void {
    this.#wire.cut()
  }

  take(data: FrameData): void {
    if (this.#open) this.#handlers.message(data)
  }

  ended(code: number, reason: string): void {
    if (!this.#open) return
    this.#open = false
    this.#handlers.closed(code, reason)
  }
}

/** The end of the hub. */
export class FarEnd implements HubLink {
  listener: HubListener | undefined
  readonly #wire: Wire
  readonly #context: SimulationContext
  #open = true

  constructor(wire: Wire, context: SimulationContext) {
    this.#wire = wire
    this.#context = context
  }

  canSend(): boolean {
    return this.#wire.down.inFlight < this.#context.conditions.window
  }

  send(data: FrameData): void {
    if (this.#open) this.#wire.down.push(() => this.#wire.near.take(data))
  }

  /** Does nothing, as WebSockets answer pings themselves. */
  ping(): void {
    const { up, down } = this.#wire
    down.push(() => up.push(() => this.listener?.alive()))
  }

  close(code: CloseCode, reason: string): void {
    if (!this.#open) return
    this.#wire.down.push(() => this.#wire.near.ended(code, reason))
    this.ended(code)
  }

  terminate(): void {
    this.ended(ABNORMAL_CLOSURE)
    this.#wire.cut()
  }

  /** Returns false, as this link cannot be held. */
  hold(): boolean {
    return false
  }

  release(): void {}

  get isReadPaused(): boolean {
    return false
  }

  take(data: FrameData): void {
    if (this.#open) this.listener?.receive(data)
  }

  ended(code: number): void {
    if (!this.#open) return
    this.#open = false
    // The hub is notified in a later turn, and never during a close that it started.
    this.#context.time.after(0, () => this.listener?.gone(code))
  }
}
