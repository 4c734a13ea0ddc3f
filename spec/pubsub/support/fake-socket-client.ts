import type { PubSubStatus, SendResult } from '../../../src/pubsub/client/events.js'
import { PubSubClient, type PubSubClientSettings } from '../../../src/pubsub/client/pubsub-client.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { ManualClock } from '../../support/manual-clock.js'
import { FakeNetwork, type FakeSocket } from './fake-socket.js'

export const URL = 'wss://hub.example/client/hubs/h?access_token=secret'

/** A client over fake sockets, on a manual clock, with retry delays of 1 s, 2 s, 3 s and so on. */
export class FakeSetting {
  readonly clock = new ManualClock()
  readonly network = new FakeNetwork()
  readonly client: PubSubClient
  readonly statuses: PubSubStatus[] = []
  /** Codes of the errors on `errors$`. */
  readonly errors: string[] = []
  /** The observed values, in order. */
  readonly log: string[] = []

  constructor(settings: Partial<PubSubClientSettings> = {}) {
    const pause = (attempt: number): number => attempt * 1_000
    this.client = new PubSubClient({
      url: URL,
      codec: jsonClientCodec,
      clock: this.clock,
      openSocket: this.network.open,
      recoveryWindow: 60_000,
      connectTimeout: 10_000,
      keepAlive: 40_000,
      timeout: 90_000,
      maxQueued: 100,
      retries: 3,
      pause,
      recoveryPause: pause,
      reconnectStrategy: attempt => (attempt === 1 ? 0 : (settings.pause ?? pause)(attempt - 1)),
      ...settings,
    })
    this.client.status$.subscribe(status => this.statuses.push(status))
    this.client.errors$.subscribe(error => this.errors.push(error.code))
  }

  /** The latest socket. */
  get socket(): FakeSocket {
    return this.network.last
  }

  get states(): string[] {
    return this.statuses.map(({ state }) => state)
  }

  get status(): PubSubStatus | undefined {
    return this.statuses.at(-1)
  }

  /** Connects for the first time, with a stable connection to a hub that has answered pings. */
  connect(): this {
    this.socket.accept().greet().pong()
    this.clock.advance(6_000)
    return this
  }

  /** Breaks the connection and recovers its session. */
  recover(): this {
    this.socket.drop()
    this.socket.accept().pong()
    return this
  }

  /** Breaks the connection and begins a new session, as the hub has lost the old one. */
  beginNewSession(connectionId = 'c2'): this {
    this.socket.drop()
    this.socket.accept().drop(1008, 'gone')
    this.socket.accept().greet(connectionId, 't2')
    return this
  }

  /** Returns an observer that logs a stream's notifications. */
  readonly observer = (name: string) => ({
    next: (value: unknown) => this.log.push(`${name}: ${show(value)}`),
    error: (error: unknown) => this.log.push(`${name}: ${codeOf(error)}`),
    complete: () => this.log.push(`${name}: complete`),
  })
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)

function show(value: unknown): string {
  if (isResult(value)) return `acked ${value.ackId}${value.duplicate ? ' duplicate' : ''}`
  return typeof value === 'object' && value !== null && 'data' in value ? String(value.data) : JSON.stringify(value)
}

const isResult = (value: unknown): value is SendResult =>
  typeof value === 'object' && value !== null && 'duplicate' in value
