import { readFileSync } from 'node:fs'
import { firstValueFrom, type Observable } from 'rxjs'
import {
  ClosedError,
  ConnectionRefusedError,
  type ConnectOptions,
  type Credentials,
  connect,
  type StateStore,
  type StateStoreError,
  type Status,
  TimeoutError,
} from '../client/index.js'
import { type Clock, systemClock } from '../core/util/clock.js'
import { reason } from '../core/util/errors.js'
import { formatUrl } from '../core/util/format-url.js'
import {
  checkTlsCredentials,
  credentialsFromEnv,
  type Environment,
  optionsFromEnv,
  urlsFromEnv,
} from '../node/environment.js'
import { EXIT, Failure, rootCause } from './failure.js'
import { type ConnectionFlags, DEFAULT_TIMEOUT, DEFAULT_URL, URL_VARIABLE } from './flags.js'
import type { Io } from './io.js'

/** A client and the broker that it connects to. */
export interface CliConnection {
  readonly store: StateStore
  /** The broker's name in messages. */
  readonly broker: string
  /** Timeout of requests, ms. */
  readonly timeout: number
}

/** The prefix of the keys and topics with which commands test a store. */
export const PROBE_PREFIX = 'rx-statestore/probe/'

/** At a terminal, users expect the connection to return within seconds. */
const RECONNECT = { max: 2_000 }
const CONNECT_TIMEOUT = 10_000

/**
 * Connects with the options of flags or, where no flag is set, of the environment. Throws `argument` if one of them is
 * invalid.
 *
 * @param requestClock - source of request timestamps; default the system clock
 */
export function open(flags: ConnectionFlags, io: Io, requestClock: Pick<Clock, 'now'> = systemClock): CliConnection {
  const urls = urlsOf(flags, io)
  const { timeout = DEFAULT_TIMEOUT } = flags
  const connectTimeout = Math.min(timeout, CONNECT_TIMEOUT)
  const clock = { ...systemClock, now: () => requestClock.now() }
  const options = { ...optionsOf(flags, io), timeout, connectTimeout, reconnect: RECONNECT, clock }
  const store = connect(urls, options)
  return { store, broker: urls.map(formatUrl).join(' or '), timeout }
}

/** Returns the broker's addresses, from flags or else from the environment. */
export function urlsOf(flags: ConnectionFlags, io: Io): readonly string[] {
  const text = flags.url ?? io.env[URL_VARIABLE]
  // Splits only at commas before a scheme, because a comma may be part of a password.
  if (text) return text.split(/\s*,\s*(?=[a-z]+:\/\/)/i)
  return [urlsFromEnv(io.env) ?? DEFAULT_URL].flat()
}

/** Returns the connection options of flags, completed from the environment. Throws if a file cannot be used. */
export function optionsOf(flags: ConnectionFlags, { env }: Pick<Io, 'env'>): ConnectOptions {
  const { clientId } = flags
  const { credentials: _, authentication: _replaced, ...options } = optionsFromEnv(env)
  // The files are read again before each attempt to connect, because a client may outlive a password or certificate.
  const credentials = (): Credentials => credentialsOf(flags, env)
  const current = credentials()
  checkTlsCredentials(current)
  return { ...options, ...(clientId !== undefined && { clientId }), ...current, credentials }
}

/**
 * Connects, runs one request, and disconnects. If the request times out without a connection, rejects with the address
 * and the cause.
 */
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

function explained(error: unknown, status: Status | undefined, { broker, timeout }: CliConnection): unknown {
  if (isPermanentEnd(error)) return refused(broker, error)
  if (!(error instanceof TimeoutError) || status?.state === 'connected') return error
  const cause = status?.state === 'reconnecting' ? rootCause(status.cause) : 'no response'
  return new Failure(EXIT.failed, `cannot reach ${broker} within ${timeout} ms: ${cause}`, { cause: error })
}

/** Returns whether the client was rejected or its connection was closed permanently. */
export const isPermanentEnd = (error: unknown): error is StateStoreError =>
  error instanceof ConnectionRefusedError || (error instanceof ClosedError && error.cause !== undefined)

export function refused(broker: string, error: StateStoreError): Failure {
  const cause = error instanceof ClosedError ? error.cause : error
  const why = cause instanceof ConnectionRefusedError ? cause.message : rootCause(error)
  return new Failure(EXIT.failed, `${broker}: ${why}`, { cause: error })
}

/** Returns the credentials of flags or, where no flag is set, of the environment. */
export function credentialsOf(flags: ConnectionFlags, env: Environment): Credentials {
  const { username, password, ca, cert, key, keyPasswordFile } = flags
  const { authentication, ...inEnvironment } = credentialsFromEnv(env)
  // A user name or password in flags replaces the service account token of the environment.
  const isReplaced = authentication === undefined || username !== undefined || password !== undefined
  return {
    ...inEnvironment,
    ...(!isReplaced && { authentication }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(ca !== undefined && { ca: contentOf('--ca', ca) }),
    ...(cert !== undefined && { cert: contentOf('--cert', cert) }),
    ...(key !== undefined && { key: contentOf('--key', key) }),
    ...(keyPasswordFile !== undefined && {
      keyPassphrase: contentOf('--key-password-file', keyPasswordFile)?.replace(/\r?\n$/, ''),
    }),
  }
}

/** Reads the file that a flag names. Throws {@link Failure} if the file cannot be read. */
export function contentOf(flag: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read the file of ${flag}: ${reason(cause)}`, { cause })
  }
}
