import { globMatcher, NO_SEPARATE_WATCH, type SeparateWatch } from '../../../harness/judges/glob.js'
import type { OutboundRequest, SessionListener } from '../../../src/client/session/session.js'
import { parseCommand } from '../../../src/core/protocol/parse-command.js'
import type { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { TIMEOUT_MS } from './sim-client.js'
import { type SessionOptions, SimSession } from './sim-session.js'

interface PendingRequest {
  times: number
  at: number
  correlation: string
  /** Whether the registration was answered. `late` means shortly before or after the client gave up. */
  answered: boolean | 'late'
}

interface PendingRead {
  readonly key: string
  readonly at: number
}

/** The number of registration attempts before a client falls back to scanning. */
const MAX_ATTEMPTS = 3

/** A session that derives from the messages whether a client must assume that its store does not notify by globs. */
export class GlobSession extends SimSession {
  readonly #pending = new Map<string, PendingRequest>()
  readonly #stoppedGlobs = new Set<string>()
  readonly #separateWatches = new Map<string, SeparateWatch>()
  readonly #reads = new Map<string, PendingRead>()
  readonly #setting: Setting

  constructor(broker: SimBroker, setting: Setting, options: SessionOptions) {
    super(broker, setting, options)
    this.#setting = setting
  }

  /** Whether the store reported a glob as unsupported on this connection, although it may have registered the glob. */
  hasRefused = false

  /** Returns how a key is watched separately on this connection. */
  separateWatchOf(key: string): SeparateWatch {
    return this.#separateWatches.get(key) ?? NO_SEPARATE_WATCH
  }

  /** Returns whether the client gave up the registration, so that new keys may not be notified. */
  hasGivenUp(glob: string): boolean {
    const request = this.#pending.get(glob)
    return request !== undefined && request.answered !== true && request.times >= MAX_ATTEMPTS
  }

  isScannedFor(glob: string): boolean {
    return this.hasGivenUp(glob) && this.#pending.get(glob)?.answered === false
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
        this.#onResponse(correlation, decoder.decode(message.payload))
        listener.message(message)
        this.#onReadResponse(correlation)
      },
    })
  }

  override publish(request: OutboundRequest, done: Parameters<SimSession['publish']>[1]): void {
    const command = parseCommand(request.payload)
    if (command.verb === 'GLOBNOTIFY') this.#onGlobRequest(decoder.decode(command.glob), command.stop, request)
    if (command.verb === 'KEYNOTIFY' && !command.stop) this.#onKeyRequest(decoder.decode(command.key))
    if (command.verb === 'GET') {
      const read = { key: decoder.decode(command.key), at: this.#setting.time.now }
      this.#reads.set(idOf(request.correlationData), read)
    }
    super.publish(request, done)
  }

  #onKeyRequest(key: string): void {
    const matches = (glob: string): boolean => globMatcher(glob)(key)
    if (!Array.from(this.#pending.keys()).some(glob => matches(glob) && this.hasGivenUp(glob))) return
    this.#separateWatches.set(key, {
      to: Number.POSITIVE_INFINITY,
      isHandedOver: Array.from(this.#stoppedGlobs).some(matches),
    })
  }

  #onReadResponse(correlation: string): void {
    const read = this.#reads.get(correlation)
    const separateWatch = read && this.#separateWatches.get(read.key)
    if (read === undefined || separateWatch === undefined || !this.#isInTime(read.at)) return
    this.#separateWatches.set(read.key, {
      ...separateWatch,
      to: this.delivering?.position ?? this.#setting.history.all.length,
    })
  }

  #isInTime(requestedAt: number): boolean {
    return this.#setting.time.now - requestedAt < TIMEOUT_MS
  }

  #forget(): void {
    this.#pending.clear()
    this.#stoppedGlobs.clear()
    this.#separateWatches.clear()
    this.#reads.clear()
  }

  #onGlobRequest(glob: string, stop: boolean, { correlationData }: OutboundRequest): void {
    const before = this.#pending.get(glob)
    if (stop) {
      this.#pending.delete(glob)
      this.#stoppedGlobs.add(glob)
    } else {
      const times = before?.answered === true ? 1 : (before?.times ?? 0) + 1
      const { now } = this.#setting.time
      this.#pending.set(glob, { times, at: now, correlation: idOf(correlationData), answered: false })
    }
  }

  #onResponse(correlation: string, payload: string): void {
    for (const request of this.#pending.values()) {
      const age = this.#setting.time.now - request.at
      if (request.correlation !== correlation || age > TIMEOUT_MS) continue
      if (payload === '+OK\r\n') request.answered = age < TIMEOUT_MS || 'late'
      if (ERROR_REPLIES.includes(payload)) request.times = MAX_ATTEMPTS
      this.hasRefused ||= payload === ERROR_REPLIES[0]
    }
  }
}

/** The error replies for unsupported globs and an exceeded quota. */
const ERROR_REPLIES = ['-ERR syntax error\r\n', '-ERR the quota has been exceeded\r\n']
const decoder = new TextDecoder()
const idOf = (correlation: Uint8Array | undefined): string => String(correlation)
