import type { IClientOptions, MqttClient } from 'mqtt'
import { ArgumentError } from '../../core/util/errors.js'
import { nameOf } from '../../core/util/host-name.js'
import { buildStreamsBy, changeOptions, type StreamBuilder, streamBuilderOf } from './mqttjs-internals.js'

/** So long an attempt may take where there are others to try, ms; twice as long in each round that follows. */
const FIRST_PATIENCE = 1_500

/** How a route is chosen; times in ms. */
export interface RouteOptions {
  readonly urls: readonly string[]
  readonly connectTimeout: number
  readonly cleanStart: boolean
  /** Source of chance in [0, 1). */
  readonly random: () => number
  /** Whether a broker may send us to any other, and not only to those of `urls`. */
  readonly followReferences: boolean
}

/** What differs between the addresses of one client. */
interface Way {
  readonly build: StreamBuilder | undefined
  readonly username: IClientOptions['username'] | undefined
  readonly password: IClientOptions['password'] | undefined
}

/**
 * Leads one client of mqtt.js to several addresses. What an address means is mqtt.js's to say: for each there is a client
 * that never connects, and lends how it makes its streams.
 */
export class AddressRouter {
  readonly client: MqttClient
  readonly #options: RouteOptions
  readonly #make: (url: string) => MqttClient
  readonly #addressRotation: AddressRotation
  readonly #ways = new Map<string, Way>()
  #isAnew = false

  /** @param make - makes a client that is not connected yet. Throws what it throws for any of the addresses. */
  constructor(options: RouteOptions, make: (url: string) => MqttClient) {
    const { urls, random } = options
    this.#options = options
    this.#make = make
    this.#addressRotation = new AddressRotation(urls, random)
    this.client = make(this.#addressRotation.current)
    this.#ways.set(this.#addressRotation.current, wayOf(this.client))
    for (const url of urls) this.#wayTo(url)
    const { build } = this.#wayTo(this.#addressRotation.current)
    if (build) buildStreamsBy(this.client, (...args) => this.#wayTo(this.#addressRotation.current).build?.(...args))
    else if (urls.length > 1) throw new ArgumentError('Expected one address, as this mqtt.js can lead to no other')
  }

  /** What to call the address that is in use, or tried next. */
  get name(): string {
    return nameOfAddress(this.#addressRotation.current)
  }

  /** How many addresses there are to be tried. */
  get count(): number {
    return this.#addressRotation.count
  }

  /** Goes on to the next address. */
  next(): void {
    this.#addressRotation.next()
  }

  /** Takes the server reference of a broker that sends us away; whether there is an address of ours in it. */
  refer(reference: unknown): boolean {
    return this.#addressRotation.refer(reference, this.#options.followReferences)
  }

  /** The next session is a new one, whatever the broker has kept. */
  beginAnew(): void {
    this.#isAnew = true
  }

  /**
   * Makes all ready for an attempt at the address.
   *
   * @param round - 0 for the first
   */
  prepare(round: number): void {
    const { current } = this.#addressRotation
    const { connectTimeout, cleanStart } = this.#options
    const { username, password } = this.#wayTo(current)
    changeOptions(this.client, {
      username,
      password,
      clean: cleanStart || this.#isAnew || this.#addressRotation.isChange,
      // One that swallows what it is sent must not keep us from the others.
      connectTimeout: this.count === 1 ? connectTimeout : Math.min(connectTimeout, FIRST_PATIENCE * 2 ** round),
    })
  }

  /** There is a session at the address now. */
  connected(): void {
    this.#isAnew = false
    this.#addressRotation.arrived()
  }

  #wayTo(url: string): Way {
    const known = this.#ways.get(url)
    if (known) return known
    const way = wayOf(this.#make(url))
    // Those a broker sends us to are as many as it likes.
    if (this.#ways.size > this.#options.urls.length) this.#ways.delete(Array.from(this.#ways.keys()).at(-1) ?? '')
    this.#ways.set(url, way)
    return way
  }
}

const wayOf = (client: MqttClient): Way => ({
  build: streamBuilderOf(client),
  username: client.options.username,
  password: client.options.password,
})

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'ws:': '80', 'wss:': '443', 'mqtt:': '1883', 'tcp:': '1883' }
const DEFAULT_TLS_PORT = '8883'

/** What to call an address in a message: without user, password and query, which may be secrets. */
export function nameOfAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/**
 * The brokers a connection may lead to, in an order of its own for every client, so that those of a broker that ends do
 * not all go to the same one next; and a guest besides, to which a broker sent us.
 */
export class AddressRotation {
  readonly #order: readonly string[]
  #at = 0
  #guest: string | undefined
  /** Where the next is to be, if a broker said so. */
  #referred: string | undefined
  /** Where the last session was had. */
  #last: string | undefined

  /** @param random - source of chance in [0, 1) */
  constructor(urls: readonly string[], random: () => number) {
    this.#order = shuffled(Array.from(new Set(urls)), random)
  }

  get current(): string {
    return this.#guest ?? this.#order[this.#at] ?? ''
  }

  /** How many there are to be tried. */
  get count(): number {
    return this.#order.length + (this.#guest === undefined ? 0 : 1)
  }

  /**
   * Whether a session there is to begin anew, as the last one was had somewhere else: what a broker kept of an earlier
   * visit is out of date, and tells us nothing we need.
   */
  get isChange(): boolean {
    return this.#last !== undefined && this.#last !== this.current
  }

  /** There is a session at the address now. */
  arrived(): void {
    this.#last = this.current
  }

  /** Goes on to the next; a guest is not come back to. */
  next(): void {
    const referred = this.#referred
    const known = referred === undefined ? this.#at + 1 : this.#order.indexOf(referred)
    this.#referred = undefined
    this.#guest = known < 0 ? referred : undefined
    if (known >= 0) this.#at = known % this.#order.length
  }

  /**
   * Takes what a broker says of where to go instead: one of ours, or, if others are allowed, any. Returns whether there
   * is such a one; then it is {@link next}.
   */
  refer(reference: unknown, others: boolean): boolean {
    const { current } = this
    for (const one of referencesOf(reference)) {
      const known = this.#order.find(url => url !== current && isAt(url, one))
      const other = others && !isAt(current, one) ? moved(current, one) : undefined
      this.#referred = known ?? other
      if (this.#referred !== undefined) return true
    }
    return false
  }
}

// Where chance is always 0, the order stays; of one address it is not asked.
function shuffled(urls: string[], random: () => number): string[] {
  for (let left = urls.length; left > 0 && urls.length > 1; left--)
    urls.push(...urls.splice(Math.floor(random() * left), 1))
  return urls
}

function isAt(url: string, { host, port }: ServerReference): boolean {
  const { hostname, protocol, port: given } = new URL(url)
  if (hostname.toLowerCase() !== host) return false
  // Who names no port has one in mind, which only we know.
  return port === undefined || String(port) === (given || (DEFAULT_PORTS[protocol] ?? DEFAULT_TLS_PORT))
}

/** The same way to another host: its protocol stays, so that nobody is led from TLS to plain text. */
function moved(from: string, { host, port }: ServerReference): string {
  const url = new URL(from)
  url.hostname = host
  if (port !== undefined) url.port = String(port)
  return url.href
}

/** A broker that another one names in its place. */
interface ServerReference {
  /** In lower case; an IPv6 address in brackets. */
  readonly host: string
  readonly port: number | undefined
}

/** Nobody has more brokers than this to name; the rest is not read. */
const LONGEST = 4_096
const MOST = 16

/**
 * Reads a server reference (MQTT 5.0, section 4.11): `host` or `host:port`, several with a space between. It comes from
 * the wire: whatever is neither is left out, and of too long a text everything.
 *
 * @example
 * ```ts
 * referencesOf('b:1883 [::1]') // [{ host: 'b', port: 1883 }, { host: '[::1]', port: undefined }]
 * ```
 */
export function referencesOf(text: unknown): readonly ServerReference[] {
  if (typeof text !== 'string' || text.length > LONGEST) return []
  const parts = text.split(' ').filter(part => part !== '')
  return parts.slice(0, MOST).flatMap(part => referenceOf(part) ?? [])
}

function referenceOf(text: string): ServerReference | undefined {
  const host = nameOf(text)
  if (host === undefined || !URL.canParse(`ws://${host}`)) return undefined
  const port = text.slice(host.length + 1)
  if (port === '') return { host, port: undefined }
  return Number(port) > 0 && Number(port) <= 65_535 ? { host, port: Number(port) } : undefined
}
