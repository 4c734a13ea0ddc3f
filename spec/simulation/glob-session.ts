import type { OutboundRequest, SessionListener } from '../../src/mqtt/session.js'
import { parseCommand } from '../../src/protocol/parse-command.js'
import type { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { type SessionOptions, SimSession } from './sim-session.js'

/** What a client asked for a glob on this connection, and whether that was answered. */
interface Asked {
  times: number
  at: number
  correlation: string
  isAnswered: boolean
}

/** So often a client asks to be told of a glob before it scans for a while. */
const PATIENCE = 3

/** Knows by what is sent whether a client has to take its store for one that does not tell of globs. */
export class GlobSession extends SimSession {
  readonly #asked = new Map<string, Asked>()
  readonly #setting: Setting
  readonly #timeout: number

  /** @param timeout - how long the client waits for an answer, ms */
  constructor(broker: SimBroker, setting: Setting, options: SessionOptions, timeout: number) {
    super(broker, setting, options)
    this.#setting = setting
    this.#timeout = timeout
  }

  /** Whether it was said of some glob that the store knows none, on this connection; it may have been done all the same. */
  hasRefused = false

  /** Whether requests for a glob were left unanswered so often that nothing is told of keys that come. */
  despairs(glob: string): boolean {
    const asked = this.#asked.get(glob)
    return asked !== undefined && !asked.isAnswered && asked.times >= PATIENCE
  }

  override open(listener: SessionListener): void {
    this.#asked.clear()
    super.open({
      ...listener,
      connected: (...session) => {
        this.#asked.clear()
        this.hasRefused = false
        listener.connected(...session)
      },
      message: message => {
        this.#answered(idOf(message.correlationData), decoder.decode(message.payload))
        listener.message(message)
      },
    })
  }

  override publish(request: OutboundRequest, done: Parameters<SimSession['publish']>[1]): void {
    const command = parseCommand(request.payload)
    if (command.verb === 'GLOBNOTIFY') this.#asks(decoder.decode(command.glob), command.stop, request)
    super.publish(request, done)
  }

  #asks(glob: string, stop: boolean, { correlationData }: OutboundRequest): void {
    const before = this.#asked.get(glob)
    if (stop) this.#asked.delete(glob)
    else {
      const times = before?.isAnswered ? 1 : (before?.times ?? 0) + 1
      const { now } = this.#setting.time
      this.#asked.set(glob, { times, at: now, correlation: idOf(correlationData), isAnswered: false })
    }
  }

  #answered(correlation: string, payload: string): void {
    for (const asked of this.#asked.values()) {
      const isInTime = this.#setting.time.now - asked.at < this.#timeout
      if (asked.correlation !== correlation || !isInTime) continue
      asked.isAnswered = payload === '+OK\r\n'
      if (REFUSALS.includes(payload)) asked.times = PATIENCE
      this.hasRefused ||= payload === REFUSALS[0]
    }
  }
}

/** That the store knows no globs, and that it has no room. */
const REFUSALS = ['-ERR syntax error\r\n', '-ERR the quota has been exceeded\r\n']
const decoder = new TextDecoder()
const idOf = (correlation: Uint8Array | undefined): string => String(correlation)
