import type { OutboundRequest, SessionListener } from '../../src/client/session/session.js'
import { parseCommand } from '../../src/core/protocol/parse-command.js'
import { fitsOf } from '../judges/globs.js'
import type { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { type SessionOptions, SimSession } from './sim-session.js'

/** What a client asked for a glob on this connection, and whether that was answered. */
interface Asked {
  times: number
  at: number
  correlation: string
  /** `late`: when the client gave it up, or just before. */
  isAnswered: boolean | 'late'
}

/** A key that is watched by itself, for the sake of a glob that has to be scanned for. */
export interface Begun {
  /** Place in the history to which that was about to be, and its steps may be merged. */
  readonly to: number
  /** It may have been lent the registration of a glob before, which has ended. */
  readonly isHandedOver: boolean
}

const NEVER: Begun = { to: 0, isHandedOver: false }

/** A key that is read. */
interface Read {
  readonly key: string
  readonly at: number
}

/** So often a client asks to be told of a glob before it scans for a while. */
const PATIENCE = 3

/** Knows by what is sent whether a client has to take its store for one that does not tell of globs. */
export class GlobSession extends SimSession {
  readonly #asked = new Map<string, Asked>()
  /** Globs that were left on this connection. */
  readonly #left = new Set<string>()
  readonly #begun = new Map<string, Begun>()
  /** By what their answers will have. */
  readonly #reads = new Map<string, Read>()
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

  /** How a key came to be watched by itself, if it did on this connection. */
  begun(key: string): Begun {
    return this.#begun.get(key) ?? NEVER
  }

  /** Whether requests for a glob were left unanswered so often that, perhaps, nothing is told of keys that come. */
  despairs(glob: string): boolean {
    const asked = this.#asked.get(glob)
    return asked !== undefined && asked.isAnswered !== true && asked.times >= PATIENCE
  }

  /** Whether that goes on. */
  isScannedFor(glob: string): boolean {
    return this.despairs(glob) && this.#asked.get(glob)?.isAnswered === false
  }

  override open(listener: SessionListener): void {
    this.#forget()
    super.open({
      ...listener,
      connected: (...session) => {
        this.#forget()
        this.hasRefused = false
        listener.connected(...session)
      },
      message: message => {
        const correlation = idOf(message.correlationData)
        this.#answered(correlation, decoder.decode(message.payload))
        listener.message(message)
        this.#wasRead(correlation)
      },
    })
  }

  override publish(request: OutboundRequest, done: Parameters<SimSession['publish']>[1]): void {
    const command = parseCommand(request.payload)
    if (command.verb === 'GLOBNOTIFY') this.#asks(decoder.decode(command.glob), command.stop, request)
    if (command.verb === 'KEYNOTIFY' && !command.stop) this.#begin(decoder.decode(command.key))
    if (command.verb === 'GET') {
      const read = { key: decoder.decode(command.key), at: this.#setting.time.now }
      this.#reads.set(idOf(request.correlationData), read)
    }
    super.publish(request, done)
  }

  #begin(key: string): void {
    const fits = (glob: string): boolean => fitsOf(glob)(key)
    if (!Array.from(this.#asked.keys()).some(glob => fits(glob) && this.despairs(glob))) return
    this.#begun.set(key, { to: Number.POSITIVE_INFINITY, isHandedOver: Array.from(this.#left).some(fits) })
  }

  #wasRead(correlation: string): void {
    const read = this.#reads.get(correlation)
    const begun = read && this.#begun.get(read.key)
    if (read === undefined || begun === undefined || !this.#isInTime(read.at)) return
    this.#begun.set(read.key, { ...begun, to: this.delivering?.place ?? this.#setting.history.all.length })
  }

  #isInTime(askedAt: number): boolean {
    return this.#setting.time.now - askedAt < this.#timeout
  }

  #forget(): void {
    this.#asked.clear()
    this.#left.clear()
    this.#begun.clear()
    this.#reads.clear()
  }

  #asks(glob: string, stop: boolean, { correlationData }: OutboundRequest): void {
    const before = this.#asked.get(glob)
    if (stop) {
      this.#asked.delete(glob)
      this.#left.add(glob)
    } else {
      const times = before?.isAnswered === true ? 1 : (before?.times ?? 0) + 1
      const { now } = this.#setting.time
      this.#asked.set(glob, { times, at: now, correlation: idOf(correlationData), isAnswered: false })
    }
  }

  #answered(correlation: string, payload: string): void {
    for (const asked of this.#asked.values()) {
      const age = this.#setting.time.now - asked.at
      if (asked.correlation !== correlation || age > this.#timeout) continue
      if (payload === '+OK\r\n') asked.isAnswered = age < this.#timeout || 'late'
      if (REFUSALS.includes(payload)) asked.times = PATIENCE
      this.hasRefused ||= payload === REFUSALS[0]
    }
  }
}

/** That the store knows no globs, and that it has no room. */
const REFUSALS = ['-ERR syntax error\r\n', '-ERR the quota has been exceeded\r\n']
const decoder = new TextDecoder()
const idOf = (correlation: Uint8Array | undefined): string => String(correlation)
