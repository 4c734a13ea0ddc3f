import { filter, firstValueFrom, map } from 'rxjs'
import {
  bytes,
  ClosedError,
  ConnectionRefusedError,
  type ConnectOptions,
  connect,
  type Entry,
  RequestRejectedError,
  ServiceError,
  type StateStore,
  type StateStoreError,
} from '../client/index.js'
import { backoffStrategy } from '../client/session/connection-manager.js'
import { openServiceSession } from '../client/session/open-session.js'
import { notAuthorized } from '../core/mqtt5/reason-codes.js'
import { randomBytes, sameBytes, toHex } from '../core/util/bytes.js'
import { type Clock, systemClock } from '../core/util/clock.js'
import { PROBE_PREFIX } from './connection.js'
import { rootCause } from './failure.js'
import { LoopbackClient } from './loopback-client.js'

/** The prefix of the client ids of checks without a client id. */
export const CLIENT_PREFIX = 'rx-statestore-probe-'

/** `notify`: the watch receives the deletion. */
export type StepName = 'connect' | 'message' | 'set' | 'get' | 'watch' | 'delete' | 'notify'

export interface Step {
  readonly step: StepName
  /** Duration, ms. */
  readonly ms: number
}

export interface CheckResult {
  /** The steps that succeeded, in order. */
  readonly steps: readonly Step[]
  readonly totalMs: number
  readonly failed?: { readonly step: StepName; readonly error: string }
}

export interface CheckOptions {
  readonly urls: readonly string[]
  /** The connection's options, without `clientId` for a random one. */
  readonly connection: ConnectOptions
  /** Maximum duration of the whole check, ms. */
  readonly timeout: number
}

/** The clock that measures the steps and ends the check. */
type CheckClock = Pick<Clock, 'monotonic' | 'schedule'>

const RECONNECT = { max: 1_000 }
const VALUE_BYTES = 16
const MAX_PACKET_BYTES = 64 * 1024
const KEEP_ALIVE_MS = 30_000

/**
 * Checks a store as its clients use it: sends a message through the broker, and sets, reads, watches and deletes a key
 * with a random name, whose watch must receive the deletion. The key expires `timeout` ms after it was set, if it could
 * not be deleted. Throws {@link ArgumentError} for invalid options. A failure of the store is part of the result.
 * Resolves after `timeout` at the latest, even if a broker that does not respond has not closed the connections yet.
 */
export async function checkEndToEnd(options: CheckOptions, clock: CheckClock): Promise<CheckResult> {
  const check = new EndToEndCheck(options, clock)
  try {
    return await check.run()
  } finally {
    await check.close()
  }
}

class EndToEndCheck {
  readonly #timeout: number
  readonly #clock: CheckClock
  readonly #store: StateStore
  readonly #loopback: LoopbackClient
  readonly #steps: Step[] = []
  #current: StepName = 'connect'
  /** Why the last attempt to connect failed. */
  #connectFailure: StateStoreError | undefined
  readonly #expired: Promise<void>
  #cancelTimeout: () => void = () => undefined

  constructor({ urls, connection, timeout }: CheckOptions, clock: CheckClock) {
    this.#timeout = timeout
    this.#clock = clock
    const { clientId = `${CLIENT_PREFIX}${toHex(randomBytes(8)).toLowerCase()}`, credentials } = connection
    // A check that is killed leaves no session behind.
    const session = { cleanStart: true, sessionExpiry: 0, connectTimeout: timeout }
    this.#store = connect(urls, { ...connection, ...session, clientId, timeout, reconnect: RECONNECT })
    this.#loopback = new LoopbackClient(
      openServiceSession(
        {
          ...connection,
          ...session,
          urls,
          clientId: `${clientId}-messages`,
          keepAlive: KEEP_ALIVE_MS,
          maximumPacketSize: MAX_PACKET_BYTES,
        },
        { strategy: backoffStrategy(RECONNECT), credentials, backoff: RECONNECT },
        systemClock,
      ),
    )
    this.#expired = new Promise(resolve => {
      this.#cancelTimeout = clock.schedule(timeout, resolve)
    })
  }

  async run(): Promise<CheckResult> {
    const start = this.#clock.monotonic()
    const timedOut = this.#expired.then(() => {
      throw this.#timeoutError()
    })
    const result = (): CheckResult => ({ steps: this.#steps, totalMs: this.#since(start) })
    try {
      await Promise.race([this.#runSteps(), timedOut])
      return result()
    } catch (error) {
      const step = this.#current
      return { ...result(), failed: { step, error: [rootCause(error), adviceFor(step, error)].join('') } }
    }
  }

  async close(): Promise<void> {
    await Promise.race([Promise.all([this.#store.close(), this.#loopback.close()]), this.#expired])
    this.#cancelTimeout()
  }

  async #runSteps(): Promise<void> {
    const name = `${PROBE_PREFIX}${toHex(randomBytes(8)).toLowerCase()}`
    const value = randomBytes(VALUE_BYTES)
    const key = this.#store.key(name, bytes)
    const entries = key.entries()
    const next = async (): Promise<Entry<Uint8Array>> => {
      const { value: entry } = await entries.next()
      if (entry === undefined) throw new ClosedError()
      return entry
    }
    const connected = Promise.all([
      this.#connectStore(),
      this.#loopback.connect(cause => {
        this.#connectFailure = cause
      }),
    ])
    await this.#step('connect', () => connected)
    await this.#step('message', () => firstValueFrom(this.#loopback.roundTrip(name, value)))
    await this.#step('set', () => key.set(value, { expiresIn: this.#timeout }))
    await this.#step('get', async () => expectValue(await key.get(), value))
    await this.#step('watch', async () => expectValue(await next(), value))
    await this.#step('delete', () => key.delete())
    await this.#step('notify', async () => expectValue(await next(), undefined))
  }

  #connectStore(): Promise<unknown> {
    const connected$ = this.#store.status$.pipe(
      map(status => {
        if (status.state === 'closed') throw status.cause ?? new ClosedError()
        if (status.state === 'reconnecting') this.#connectFailure = status.cause
        return status.state === 'connected'
      }),
      filter(Boolean),
    )
    return firstValueFrom(connected$)
  }

  async #step(step: StepName, act: () => PromiseLike<unknown>): Promise<void> {
    this.#current = step
    const start = this.#clock.monotonic()
    await act()
    this.#steps.push({ step, ms: this.#since(start) })
  }

  #since(start: number): number {
    return Math.round(10 * (this.#clock.monotonic() - start)) / 10
  }

  #timeoutError(): Error {
    const cause = this.#current === 'connect' ? this.#connectFailure : undefined
    return new Error(`no answer within ${this.#timeout} ms${cause === undefined ? '' : `: ${rootCause(cause)}`}`)
  }
}

function expectValue({ value }: Entry<Uint8Array>, expected: Uint8Array | undefined): void {
  if (!sameBytes(value, expected))
    throw new Error(expected === undefined ? 'the deleted key has a value' : 'the key has another value')
}

/** Returns which right is missing, to append to an error that a missing right caused. */
function adviceFor(step: StepName, error: unknown): string {
  if (error instanceof ConnectionRefusedError && error.reasonCode === notAuthorized)
    return '; the policy must permit Connect with the id of --client-id, and with that id followed by -messages'
  if (error instanceof RequestRejectedError && error.status === notAuthorized && step === 'message')
    return `; the policy must permit Publish and Subscribe for the topics ${PROBE_PREFIX}+`
  if (error instanceof ServiceError && error.code === 'not-authorized')
    return `; the policy must permit ReadWrite for the keys ${PROBE_PREFIX}* (keyType: Pattern)`
  return ''
}
