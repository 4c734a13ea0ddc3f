import { readFileSync } from 'node:fs'
import { firstValueFrom, type Observable } from 'rxjs'
import {
  ClosedError,
  ConnectionRefusedError,
  type ConnectOptions,
  connect,
  type StateStore,
  type StateStoreError,
  type Status,
  TimeoutError,
} from '../client/index.js'
import { type Clock, systemClock } from '../core/util/clock.js'
import { reason } from '../core/util/errors.js'
import { optionsFromEnv, urlsFromEnv } from '../node/environment.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { type ConnectionFlags, DEFAULT_TIMEOUT, DEFAULT_URL, URL_VARIABLE } from './flags.js'
import type { Io } from './io.js'

/** A client on its way to the broker, and how to call that broker in a message. */
export interface Connection {
  readonly store: StateStore
  readonly broker: string
  /** ms */
  readonly timeout: number
}

/** At a terminal one sees a broker come back within a few seconds. */
const RECONNECT = { max: 2_000 }
const CONNECT_TIMEOUT = 10_000

/**
 * Connects as flags say, else the environment. Throws `argument` for what is wrong in either.
 *
 * @param told - time that requests carry; default that of the machine
 */
export function open(flags: ConnectionFlags, io: Io, told: Pick<Clock, 'now'> = systemClock): Connection {
  const urls = urlsOf(flags, io)
  const { timeout = DEFAULT_TIMEOUT } = flags
  const connectTimeout = Math.min(timeout, CONNECT_TIMEOUT)
  const clock = { ...systemClock, now: () => told.now() }
  const options = { ...optionsOf(flags, io), timeout, connectTimeout, reconnect: RECONNECT, clock }
  const store = connect(urls, options)
  return { store, broker: urls.map(brokerOf).join(' or '), timeout }
}

/** Where the broker is, or several are, as flags say, else the environment. */
export function urlsOf(flags: ConnectionFlags, io: Io): readonly string[] {
  const text = flags.url ?? io.env[URL_VARIABLE]
  // A comma may as well be part of a password.
  if (text) return text.split(/\s*,\s*(?=[a-z]+:\/\/)/i)
  return [urlsFromEnv(io.env) ?? DEFAULT_URL].flat()
}

/** How to connect, as flags say, else the environment. */
export const optionsOf = (flags: ConnectionFlags, io: Io): ConnectOptions => ({
  ...environment(flags, io),
  ...given(flags),
})

/** What to call a broker. Not the URL itself, which may carry a password. */
export function brokerOf(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}

/** Runs one request on a connection of its own. When it fails for want of a connection, says where to and why. */
export async function once<T>(
  flags: ConnectionFlags,
  io: Io,
  request: (store: StateStore) => Observable<T>,
): Promise<T> {
  const connection = open(flags, io)
  const { store } = connection
  let status: Status | undefined
  const subscription = store.status$.subscribe(next => {
    status = next
  })
  try {
    return await firstValueFrom(request(store))
  } catch (error) {
    throw explained(error, status, connection)
  } finally {
    subscription.unsubscribe()
    await store.close()
  }
}

function explained(error: unknown, status: Status | undefined, { broker, timeout }: Connection): unknown {
  if (isEndForGood(error)) return refused(broker, error)
  if (!(error instanceof TimeoutError) || status?.state === 'connected') return error
  const cause = status?.state === 'reconnecting' ? rootCause(status.cause) : 'no answer'
  return new Failure(EXIT.failed, `cannot reach ${broker} within ${timeout} ms: ${cause}`, { cause: error })
}

/** Whether the broker does not take the client, or has closed its connection for good. */
export const isEndForGood = (error: unknown): error is StateStoreError =>
  error instanceof ConnectionRefusedError || (error instanceof ClosedError && error.cause !== undefined)

/** The failure that a connection was closed for good. */
export const refused = (broker: string, error: StateStoreError): Failure =>
  new Failure(EXIT.failed, `${broker}: ${rootCause(error)}`, { cause: error })

// A name or password of the command line is meant for a broker without service account tokens.
function environment(flags: ConnectionFlags, io: Io): ConnectOptions {
  const { authentication, credentials, ...options } = optionsFromEnv(io.env)
  const replaced = flags.username !== undefined || flags.password !== undefined
  return authentication && credentials && !replaced ? { ...options, authentication, credentials } : options
}

function given(flags: ConnectionFlags): ConnectOptions {
  const { clientId, username, password, ca, cert, key, keyPasswordFile } = flags
  const wanted: { [K in keyof ConnectOptions]: ConnectOptions[K] | undefined } = {
    clientId,
    username,
    password,
    ca: contentOf('--ca', ca),
    cert: contentOf('--cert', cert),
    key: contentOf('--key', key),
    keyPassphrase: contentOf('--key-password-file', keyPasswordFile)?.replace(/\r?\n$/, ''),
  }
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
}

/** The text of the file that a flag names, if it is given. Throws {@link Failure} for what cannot be read. */
export function contentOf(flag: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read the file of ${flag}: ${reason(cause)}`, { cause })
  }
}
