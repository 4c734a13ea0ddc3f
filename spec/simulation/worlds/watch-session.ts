import type { OutboundRequest, SessionListener } from '../../../src/client/session/session.js'
import { parseCommand } from '../../../src/core/protocol/parse-command.js'
import type { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { TIMEOUT_MS } from './sim-client.js'
import { type SessionOptions, SimSession } from './sim-session.js'

export interface SessionJudge {
  /** Whether answered requests may be repeated, for example because some replies are odd. */
  readonly isAskedAgain: boolean
  readonly complain: (what: string) => void
  /** Called when the store's response to the SET of a value has reached the client that sent it. */
  readonly answered: (value: string) => void
}

/** A write of the client that currently has the session. */
interface SentWrite {
  readonly value: string
  readonly connection: number
}

/**
 * A session that checks sent messages and records on which connection a write was sent. A key must be registered once
 * per connection.
 */
export class WatchSession extends SimSession {
  readonly #setting: Setting
  readonly #judge: SessionJudge
  /** The registrations requested on this connection, with their times. */
  readonly #registered = new Map<string, number>()
  readonly #writes = new Map<string, SentWrite>()
  readonly #connectionOf = new Map<string, number>()
  #connection = 0

  constructor(brokers: readonly SimBroker[], setting: Setting, options: SessionOptions, judge: SessionJudge) {
    super(brokers, setting, options)
    this.#setting = setting
    this.#judge = judge
  }

  /** Returns whether the client that currently has the session sent the write of a value on an earlier connection. */
  wasSentEarlier(value: string): boolean {
    const connection = this.#connectionOf.get(value)
    return connection !== undefined && connection < this.#connection
  }

  override open(listener: SessionListener): void {
    this.#writes.clear()
    this.#connectionOf.clear()
    super.open({
      ...listener,
      connected: info => {
        this.#registered.clear()
        this.#connection++
        listener.connected(info)
      },
      message: message => {
        const sent = message.correlationData && this.#writes.get(String(message.correlationData))
        if (sent) this.#judge.answered(sent.value)
        listener.message(message)
      },
    })
  }

  override publish(request: OutboundRequest, done: Parameters<SimSession['publish']>[1]): void {
    const command = parseCommand(request.payload)
    if (command.verb === 'KEYNOTIFY') this.#register(decoder.decode(command.key), command.stop)
    if (command.verb === 'SET') {
      const value = decoder.decode(command.value)
      this.#writes.set(String(request.correlationData), { value, connection: this.#connection })
      this.#connectionOf.set(value, this.#connection)
    }
    super.publish(request, done)
  }

  /** Checks that a key is registered only once, unless its request timed out or got an odd reply. */
  #register(key: string, stop: boolean): void {
    const { time } = this.#setting
    const { isAskedAgain, complain } = this.#judge
    const before = this.#registered.get(key)
    if (stop) this.#registered.delete(key)
    else this.#registered.set(key, time.now)
    if (stop || before === undefined || isAskedAgain) return
    if (time.now - before < TIMEOUT_MS * CLOCK_SLACK) complain(`${this.clientId} ${key} is registered twice`)
  }
}

/** A tolerance factor for timeouts, because the clocks of clients run at different rates. */
const CLOCK_SLACK = 0.9
const decoder = new TextDecoder()
