import type { EventLog } from './event-log.js'
import type { Io } from './io.js'

const PROGRAM = 'systemd-notify'

/**
 * Notifies systemd that the store is ready or stopping and, for the watchdog, that it is alive. Node has no Unix
 * datagram sockets, so the program `systemd-notify` sends each notification. Without `NOTIFY_SOCKET`, nothing is sent.
 */
export class ServiceNotifier {
  readonly #io: Io
  readonly #log: EventLog
  #cancelWatchdog: () => void = () => undefined
  #hasFailed = false

  constructor(io: Io, log: EventLog) {
    this.#io = io
    this.#log = log
  }

  /** Reports that the store serves, and starts the watchdog if systemd asks for one. */
  notifyReady(): void {
    this.#send('--ready')
    const { WATCHDOG_USEC, WATCHDOG_PID } = this.#io.env
    const timeoutMs = Number(WATCHDOG_USEC) / 1_000
    if (!(timeoutMs > 0) || (WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(process.pid))) return
    // A store whose event loop is blocked does not send, and systemd restarts it.
    const beat = (): void => {
      this.#send('WATCHDOG=1')
      this.#cancelWatchdog = this.#io.clock.schedule(timeoutMs / 2, beat)
    }
    beat()
  }

  notifyStopping(): void {
    this.#cancelWatchdog()
    this.#send('STOPPING=1')
  }

  #send(message: string): void {
    const { env } = this.#io
    if (!env['NOTIFY_SOCKET']) return
    const child = this.#io.spawn(PROGRAM, [message], { env, detached: false })
    child.on('error', error => {
      if (this.#hasFailed) return
      this.#hasFailed = true
      this.#log.write('warn', 'systemd', `cannot notify systemd: ${error.message}`)
    })
  }
}
