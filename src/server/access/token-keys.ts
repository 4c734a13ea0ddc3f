import http from 'node:http'
import https from 'node:https'
import type { TcpSocketConnectOpts } from 'node:net'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  type JWTVerifyGetKey,
} from 'jose'
import { serverAccessChannel } from '../../core/diagnostics/server-channels.js'
import { addressTimeout } from '../../core/util/address-timeout.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, formatValue, reason } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import { isLoopback } from '../../core/util/host-name.js'
import type { Warn } from '../../node/net/security-warning.js'

const FETCH_TIMEOUT_MS = 5_000
const MAX_KEYS_BYTES = 1024 * 1024
/** The time for which keys stay in effect after they were fetched last, if the key server fails. */
const MAX_KEY_AGE_MS = 24 * 3_600_000

/** The keys that verify tokens. */
export interface TokenKeys {
  readonly get: JWTVerifyGetKey
  /** Why the keys may be outdated. */
  readonly problem: string | undefined
}

/** Opens a JWK set, or the one at an address. Throws {@link ArgumentError}. */
export function openTokenKeys(
  jwks: string,
  warn: Warn,
  clock: Pick<Clock, 'now' | 'monotonic'> = systemClock,
): TokenKeys {
  const url = URL.canParse(jwks) ? new URL(jwks) : undefined
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname)))
    return new RemoteTokenKeys(url, warn, clock)
  try {
    return { get: createLocalJWKSet(JSON.parse(jwks)), problem: undefined }
  } catch (cause) {
    const got = url === undefined ? formatValue(reason(cause)) : `got ${formatUrl(jwks)}`
    throw new ArgumentError(`Expected a JWK set or its https: URL: ${got}`, { cause })
  }
}

/** The last fetched keys. */
interface FetchedKeys {
  readonly text: string
  readonly time: number
  readonly monotonic: number
}

/**
 * The keys of a key server. They are fetched every ten minutes, and when a token names an unknown key, at most twice a
 * minute. A key server that fails leaves the last keys in effect for a day, because its outage says nothing about the
 * keys.
 */
class RemoteTokenKeys implements TokenKeys {
  readonly get: JWTVerifyGetKey
  readonly #address: string
  readonly #name: string
  readonly #warn: Warn
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #last: FetchedKeys | undefined
  #failure: string | undefined
  #failedAttempts = 0

  constructor(url: URL, warn: Warn, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#address = url.href
    this.#name = url.host
    this.#warn = warn
    this.#clock = clock
    this.get = createRemoteJWKSet(url, {
      timeoutDuration: FETCH_TIMEOUT_MS,
      [customFetch]: (...request) => this.#fetch(...request),
    })
  }

  get problem(): string | undefined {
    if (this.#failure === undefined) return undefined
    const keys = this.#lastUsable
    const state =
      keys === undefined ? 'no keys verify tokens' : `keys of ${new Date(keys.time).toISOString()} are in effect`
    return `the key server ${this.#name} fails (${this.#failure}); ${state}`
  }

  readonly #fetch: FetchImplementation = async (...request) => {
    try {
      const text = await fetchKeys(addressTimeout(FETCH_TIMEOUT_MS, this.#failedAttempts), ...request)
      this.#last = { text, time: this.#clock.now(), monotonic: this.#clock.monotonic() }
      if (this.#failure !== undefined) this.#warn(`the key server ${this.#name} works again`)
      this.#failure = undefined
      this.#failedAttempts = 0
      return Response.json(JSON.parse(text))
    } catch (error) {
      this.#onFailure(error)
      const keys = this.#lastUsable
      if (keys === undefined) throw error
      return Response.json(JSON.parse(keys.text))
    }
  }

  #onFailure(error: unknown): void {
    const isFirst = this.#failure === undefined
    this.#failedAttempts++
    // A message may quote an address with a password.
    this.#failure = reason(error).replaceAll(this.#address, this.#name)
    serverAccessChannel.publish({ event: 'keys-unavailable', reason: this.#failure })
    const { problem } = this
    if (isFirst && problem !== undefined) this.#warn(problem)
  }

  /** The keys that were fetched last, unless either clock says that they are too old. */
  get #lastUsable(): FetchedKeys | undefined {
    const keys = this.#last
    if (keys === undefined) return undefined
    const ageMs = Math.max(this.#clock.now() - keys.time, this.#clock.monotonic() - keys.monotonic)
    return ageMs <= MAX_KEY_AGE_MS ? keys : undefined
  }
}

/** Fetches a JWK set as text. Rejects for a text that is not a JWK set. */
async function fetchKeys(
  addressTimeoutMs: number,
  ...[url, { headers, signal }]: Parameters<FetchImplementation>
): Promise<string> {
  const response = await get(url, {
    headers: Object.fromEntries(headers),
    signal,
    // `fetch` has no such option.
    autoSelectFamilyAttemptTimeout: addressTimeoutMs,
    agent: false,
  })
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response) {
    size += chunk.length
    if (size > MAX_KEYS_BYTES) throw new Error(`more than ${MAX_KEYS_BYTES} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString()
  createLocalJWKSet(JSON.parse(text))
  return text
}

/** Requests a URL. Rejects for another status than 200, because a redirection may lead anywhere. */
async function get(url: string, options: https.RequestOptions & TcpSocketOptions): Promise<http.IncomingMessage> {
  const { get } = url.startsWith('https:') ? https : http
  return new Promise((resolve, reject) => {
    const request = get(url, options, response => {
      if (response.statusCode === 200) return resolve(response)
      request.destroy()
      reject(new Error(`status ${response.statusCode}`))
    })
    request.on('error', error => reject(options.signal?.aborted ? options.signal.reason : error))
  })
}

type TcpSocketOptions = Pick<TcpSocketConnectOpts, 'autoSelectFamilyAttemptTimeout'>
