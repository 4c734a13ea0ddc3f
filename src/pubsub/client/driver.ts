import { afterInput, type Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import { DeadlineTimer } from '../../core/util/timeouts.js'
import { settleWithin } from '../../core/util/wait.js'
import type { ClientStateMachine } from './client-state-machine.js'
import type { Action, MachineEvent } from './events.js'
import type { OpenSocket, Socket, SocketHandlers } from './ws-socket.js'

/** A URL, or a function that returns a fresh URL with a fresh access token for every new session. */
export type UrlSource = string | (() => string | Promise<string>)

export interface DriverSettings {
  readonly machine: ClientStateMachine
  readonly clock: Clock
  readonly openSocket: OpenSocket
  readonly subprotocol: string
  readonly url: UrlSource
  readonly onAction: (action: Action) => void
}

/** The delay in ms of a timer from which the client concludes that the computer slept. */
const SLEEP_THRESHOLD_MS = 10_000
const CLOSE_TIMEOUT_MS = 2_000

/**
 * Connects a state machine to a socket and a clock. Actions run in order. An action that another action triggers, such
 * as a subscriber's next send, is queued after the pending actions.
 */
export class Driver {
  readonly #settings: DriverSettings
  readonly #actions = new Fifo<Action>()
  #isRunning = false
  #socket: Socket | undefined
  #closing: Socket | undefined
  #socketClosed: Promise<void> = Promise.resolve()
  readonly #deadlineTimer: DeadlineTimer

  constructor(settings: DriverSettings) {
    this.#settings = settings
    const { clock } = settings
    this.#deadlineTimer = new DeadlineTimer(clock, late => {
      if (late > SLEEP_THRESHOLD_MS) this.dispatch({ type: 'woke' })
      // Also after a late timer: every timer of a hidden page is late.
      afterInput(clock, () => this.dispatch({ type: 'tick' }))
    })
  }

  get bufferedBytes(): number {
    return this.#socket?.bufferedAmount ?? 0
  }

  dispatch(event: MachineEvent): void {
    const { machine, clock } = this.#settings
    for (const action of machine.handle(event, clock.monotonic())) this.#actions.push(action)
    if (this.#isRunning) return
    this.#isRunning = true
    for (let action = this.#actions.shift(); action !== undefined; action = this.#actions.shift()) this.#perform(action)
    this.#isRunning = false
    this.#deadlineTimer.set(machine.deadline)
  }

  /** Ends the state machine. Resolves when its socket is closed, after 2 s at the latest. */
  async close(): Promise<void> {
    this.dispatch({ type: 'close' })
    const isClosed = this.#socketClosed.then(() => true)
    // A half-open link would never close and would keep the process alive.
    if (!(await settleWithin(CLOSE_TIMEOUT_MS, this.#settings.clock, isClosed))) this.#closing?.terminate()
  }

  #perform(action: Action): void {
    switch (action.type) {
      case 'transmit':
        this.#socket?.send(action.data)
        break
      case 'open':
        this.#socket = this.#open(action.link, action.url)
        break
      case 'close':
        this.#socket?.close(action.code)
        this.#closing = this.#socket
        this.#socket = undefined
        return
      case 'fetchUrl':
        this.#fetchUrl(action.link)
        break
      default:
        this.#settings.onAction(action)
        break
    }
  }

  #open(link: number, url: string): Socket {
    const { openSocket, subprotocol } = this.#settings
    let onGone = (): void => undefined
    this.#socketClosed = new Promise(resolve => {
      onGone = resolve
    })
    const handlers: SocketHandlers = {
      opened: () => this.dispatch({ type: 'opened', link }),
      message: data => this.dispatch({ type: 'received', link, data }),
      closed: (code, reason) => {
        onGone()
        this.dispatch({ type: 'closed', link, code, reason })
      },
    }
    return openSocket(url, subprotocol, handlers)
  }

  #fetchUrl(link: number): void {
    const { url } = this.#settings
    if (typeof url === 'string') {
      this.dispatch({ type: 'url', link, url })
      return
    }
    // The promise converts an exception of the function to a rejection.
    Promise.resolve()
      .then(url)
      .then(
        fresh => this.dispatch({ type: 'url', link, url: fresh }),
        error => this.dispatch({ type: 'urlFailed', link, error }),
      )
  }
}
