import type { IClientOptions, MqttClient } from 'mqtt'
import { addressTimeout } from '../../core/util/address-timeout.js'
import { MAX_TIMEOUT_MS } from '../../core/util/clock.js'
import { ArgumentError } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import { nameOf } from '../../core/util/host-name.js'
import { changeOptions, type StreamBuilder, setStreamBuilder, streamBuilderOf } from './mqttjs-internals.js'
import { type Credentials, changeTls, withCredentials } from './mqttjs-options.js'
import { withAddressTimeout } from './node-net.js'

/** Timeout of an attempt in the first round of several addresses, ms. It doubles in each round. */
const FIRST_ATTEMPT_TIMEOUT_MS = 1_500

/** All times are in ms. */
export interface AddressRouterOptions {
  readonly urls: readonly string[]
  readonly connectTimeout: number
  readonly cleanStart: boolean
  /** Returns a number in [0, 1). */
  readonly random: () => number
  readonly followReferences: boolean
}

interface AddressSettings {
  readonly build: StreamBuilder | undefined
  readonly username: IClientOptions['username'] | undefined
  readonly password: IClientOptions['password'] | undefined
  readonly properties: IClientOptions['properties'] | undefined
  /** The options that `build` reads for each stream. */
  readonly streamOptions: IClientOptions
}

/**
 * Routes one mqtt.js client to several addresses. mqtt.js must interpret each address itself, so a second client per
 * address, which never connects, supplies the stream builder.
 */
export class AddressRouter {
  readonly client: MqttClient
  readonly #options: AddressRouterOptions
  readonly #createClient: (url: string) => MqttClient
  readonly #addressRotation: AddressRotation
  readonly #settings = new Map<string, AddressSettings>()
  #mustStartClean = false
  #addressTimeoutMs = 1

  constructor(options: AddressRouterOptions, createClient: (url: string) => MqttClient) {
    const { urls, random } = options
    this.#options = options
    this.#createClient = createClient
    this.#addressRotation = new AddressRotation(urls, random)
    this.client = createClient(this.#addressRotation.current)
    this.#settings.set(this.#addressRotation.current, settingsOf(this.client))
    for (const url of urls) this.#settingsFor(url)
    const { build } = this.#settingsFor(this.#addressRotation.current)
    if (build)
      setStreamBuilder(this.client, (...args) =>
        withAddressTimeout(this.#addressTimeoutMs, () =>
          this.#settingsFor(this.#addressRotation.current).build?.(...args),
        ),
      )
    else if (urls.length > 1) throw new ArgumentError('Expected one address: this mqtt.js cannot use several')
  }

  get name(): string {
    return formatUrl(this.#addressRotation.current)
  }

  get count(): number {
    return this.#addressRotation.count
  }

  /** Timeout of an attempt to connect, apart from the shorter ones at several addresses, ms. */
  get connectTimeout(): number {
    return this.#options.connectTimeout
  }

  next(): void {
    this.#addressRotation.next()
  }

  /** Follows a server reference, and returns whether the reference names a usable address. */
  followServerReference(reference: unknown): boolean {
    return this.#addressRotation.followServerReference(reference, this.#options.followReferences)
  }

  /** Makes the next session a new one, even if the broker kept the last session. */
  startNewSession(): void {
    this.#mustStartClean = true
  }

  /** @param credentials - those that replace the credentials of the options and the address */
  prepare(round: number, credentials: Credentials | undefined): void {
    const { current } = this.#addressRotation
    const { connectTimeout, cleanStart } = this.#options
    const { username, password, properties, streamOptions } = this.#settingsFor(current)
    // An unresponsive broker must not block the attempts at the other brokers.
    const roundTimeoutMs = this.count === 1 ? MAX_TIMEOUT_MS : FIRST_ATTEMPT_TIMEOUT_MS * 2 ** round
    const timeoutMs = Math.min(connectTimeout, roundTimeoutMs, MAX_TIMEOUT_MS)
    this.#addressTimeoutMs = addressTimeout(timeoutMs, round)
    changeOptions(this.client, {
      username,
      password,
      properties,
      clean: cleanStart || this.#mustStartClean || this.#addressRotation.isAddressChanged,
      connectTimeout: timeoutMs,
    })
    if (credentials === undefined) return
    changeTls(streamOptions, credentials)
    changeOptions(this.client, withCredentials(this.client.options, credentials))
  }

  connected(): void {
    this.#mustStartClean = false
    this.#addressRotation.markConnected()
  }

  #settingsFor(url: string): AddressSettings {
    const known = this.#settings.get(url)
    if (known) return known
    const settings = settingsOf(this.#createClient(url))
    // Brokers can refer to any number of addresses, so only one is cached in addition to the configured addresses.
    if (this.#settings.size > this.#options.urls.length)
      this.#settings.delete(Array.from(this.#settings.keys()).at(-1) ?? '')
    this.#settings.set(url, settings)
    return settings
  }
}

const settingsOf = (client: MqttClient): AddressSettings => ({
  build: streamBuilderOf(client),
  username: client.options.username,
  password: client.options.password,
  properties: client.options.properties,
  streamOptions: client.options,
})

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'ws:': '80', 'wss:': '443', 'mqtt:': '1883', 'tcp:': '1883' }
const DEFAULT_TLS_PORT = '8883'

/**
 * A connection's brokers, shuffled per client, so that the clients of a stopped broker do not all move to the same
 * broker. A server reference can add one address temporarily.
 */
export class AddressRotation {
  readonly #order: readonly string[]
  #index = 0
  #referredAddress: string | undefined
  #nextReferred: string | undefined
  #lastConnected: string | undefined

  constructor(urls: readonly string[], random: () => number) {
    this.#order = shuffled(Array.from(new Set(urls)), random)
  }

  get current(): string {
    return this.#referredAddress ?? this.#order[this.#index] ?? ''
  }

  get count(): number {
    return this.#order.length + (this.#referredAddress === undefined ? 0 : 1)
  }

  /**
   * Whether the last session was at another address. The session state at the current address is then outdated, so the
   * session starts clean.
   */
  get isAddressChanged(): boolean {
    return this.#lastConnected !== undefined && this.#lastConnected !== this.current
  }

  markConnected(): void {
    this.#lastConnected = this.current
  }

  /** Advances to the next address. A referred address outside the list is used only once. */
  next(): void {
    const referred = this.#nextReferred
    const known = referred === undefined ? this.#index + 1 : this.#order.indexOf(referred)
    this.#nextReferred = undefined
    this.#referredAddress = known < 0 ? referred : undefined
    if (known >= 0) this.#index = known % this.#order.length
  }

  /**
   * Follows a server reference, and returns whether the reference names a usable address, which {@link next} then
   * selects. `allowOthers` permits hosts outside the list.
   */
  followServerReference(reference: unknown, allowOthers: boolean): boolean {
    const { current } = this
    for (const one of parseReferences(reference)) {
      const known = this.#order.find(url => url !== current && isAt(url, one))
      const other = allowOthers && !isAt(current, one) ? withHost(current, one) : undefined
      this.#nextReferred = known ?? other
      if (this.#nextReferred !== undefined) return true
    }
    return false
  }
}

// If `random` always returns 0, the order is kept. For a single address no random number is drawn.
function shuffled(urls: string[], random: () => number): string[] {
  for (let remaining = urls.length; remaining > 0 && urls.length > 1; remaining--)
    urls.push(...urls.splice(Math.floor(random() * remaining), 1))
  return urls
}

function isAt(url: string, { host, port }: ServerReference): boolean {
  const { hostname, protocol, port: given } = new URL(url)
  if (hostname.toLowerCase() !== host) return false
  // A reference without a port means the configured port.
  return port === undefined || String(port) === (given || (DEFAULT_PORTS[protocol] ?? DEFAULT_TLS_PORT))
}

/** Replaces an address's host. The scheme stays, so a reference cannot downgrade TLS to plain text. */
function withHost(from: string, { host, port }: ServerReference): string {
  const url = new URL(from)
  url.hostname = host
  if (port !== undefined) url.port = String(port)
  return url.href
}

interface ServerReference {
  /** The host in lower case; an IPv6 address is in brackets. */
  readonly host: string
  readonly port: number | undefined
}

const MAX_REFERENCE_LENGTH = 4_096
const MAX_REFERENCES = 16

/**
 * Parses a server reference (MQTT 5.0, section 4.11): `host` or `host:port`, separated by spaces. The text comes from
 * the wire: malformed parts are skipped, and a text that exceeds the limit yields nothing.
 *
 * @example
 * ```ts
 * // [{ host: 'b', port: 1883 }, { host: '[::1]', port: undefined }]
 * parseReferences('b:1883 [::1]')
 * ```
 */
export function parseReferences(text: unknown): readonly ServerReference[] {
  if (typeof text !== 'string' || text.length > MAX_REFERENCE_LENGTH) return []
  const parts = text.split(' ').filter(part => part !== '')
  return parts.slice(0, MAX_REFERENCES).flatMap(part => parseReference(part) ?? [])
}

function parseReference(text: string): ServerReference | undefined {
  const host = nameOf(text)
  if (host === undefined || !URL.canParse(`ws://${host}`)) return undefined
  const port = text.slice(host.length + 1)
  if (port === '') return { host, port: undefined }
  return Number(port) > 0 && Number(port) <= 65_535 ? { host, port: Number(port) } : undefined
}
