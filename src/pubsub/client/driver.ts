import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import { DeadlineTimer } from '../../core/util/timeouts.js'
import type { ClientStateMachine } from './client-state-machine.js'
import type { Action, MachineEvent } from './events.js'
import type { OpenSocket, Socket, SocketHandlers } from './ws-socket.js'

/** Where a client connects: a URL, or a function that gives a fresh one, with a fresh access token, for every new session. */
export type UrlSource = string | (() => string | Promise<string>)

/** What a driver needs. */
export interface DriverSettings {
  readonly machine: ClientStateMachine
  readonly clock: Clock
  readonly openSocket: OpenSocket
  readonly subprotocol: string
  readonly url: UrlSource
  /** Takes the actions that do not concern the socket. */
  readonly tell: (action: Action) => void
}

/** A timer that is later than this shows that the computer has slept, ms. */
const OVERSLEPT = 10_000
/** How long the hub may take to close, ms. */
const PATIENCE = 2_000

/**
 * Gives a machine its socket and its clock. What an action causes, such as a subscriber that sends again, waits until
 * all earlier actions are done.
 */
export class Driver {
  readonly #settings: DriverSettings
  readonly #actions = new Fifo<Action>()
  #running = false
  #socket: Socket | undefined
  /** The latest one that was closed here. */
  #closing: Socket | undefined
  /** Settles when the latest socket is closed. */
  #gone: Promise<void> = Promise.resolve()
  readonly #deadlineTimer: DeadlineTimer

  constructor(settings: DriverSettings) {
    this.#settings = settings
    this.#deadlineTimer = new DeadlineTimer(settings.clock, late =>
      this.dispatch({ type: late > OVERSLEPT ? 'woke' : 'tick' }),
    )
  }

  /** Bytes the socket has not sent yet. */
  get backlog(): number {
    return this.#socket?.bufferedAmount ?? 0
  }

  dispatch(event: MachineEvent): void {
    const { machine, clock } = this.#settings
    for (const action of machine.handle(event, clock.monotonic())) this.#actions.push(action)
    if (this.#running) return
    this.#running = true
    for (let action = this.#actions.shift(); action !== undefined; action = this.#actions.shift()) this.#run(action)
    this.#running = false
    this.#deadlineTimer.set(machine.deadline)
  }

  /** Ends the machine. Resolves when its socket is closed, or when the hub has had enough time for that. */
  async close(): Promise<void> {
    this.dispatch({ type: 'close' })
    let cancel = (): void => undefined
    const patience = new Promise<void>(resolve => {
      cancel = this.#settings.clock.schedule(PATIENCE, () => {
        // Behind a half-open link no answer comes, and the process could not end.
        this.#closing?.terminate()
        resolve()
      })
    })
    await Promise.race([this.#gone, patience])
    cancel()
  }

  #run(action: Action): void {
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
        this.#settings.tell(action)
        break
    }
  }

  #open(link: number, url: string): Socket {
    const { openSocket, subprotocol } = this.#settings
    let gone = (): void => undefined
    this.#gone = new Promise(resolve => {
      gone = resolve
    })
    const handlers: SocketHandlers = {
      opened: () => this.dispatch({ type: 'opened', link }),
      message: data => this.dispatch({ type: 'received', link, data }),
      closed: (code, reason) => {
        gone()
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
    // A function that throws fails like one that rejects.
    Promise.resolve()
      .then(url)
      .then(
        fresh => this.dispatch({ type: 'url', link, url: fresh }),
        error => this.dispatch({ type: 'urlFailed', link, error }),
      )
  }
}
