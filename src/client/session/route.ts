import type { IClientOptions, MqttClient } from 'mqtt'
import { ArgumentError } from '../../core/util/errors.js'
import { Addresses, nameOfAddress } from './addresses.js'
import { buildStreamsBy, changeOptions, type StreamBuilder, streamBuilderOf } from './mqttjs-insides.js'

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
export class Route {
  readonly client: MqttClient
  readonly #options: RouteOptions
  readonly #make: (url: string) => MqttClient
  readonly #addresses: Addresses
  readonly #ways = new Map<string, Way>()
  #isAnew = false

  /** @param make - makes a client that is not connected yet. Throws what it throws for any of the addresses. */
  constructor(options: RouteOptions, make: (url: string) => MqttClient) {
    const { urls, random } = options
    this.#options = options
    this.#make = make
    this.#addresses = new Addresses(urls, random)
    this.client = make(this.#addresses.current)
    this.#ways.set(this.#addresses.current, wayOf(this.client))
    for (const url of urls) this.#wayTo(url)
    const { build } = this.#wayTo(this.#addresses.current)
    if (build) buildStreamsBy(this.client, (...args) => this.#wayTo(this.#addresses.current).build?.(...args))
    else if (urls.length > 1) throw new ArgumentError('Expected one address, as this mqtt.js can lead to no other')
  }

  /** What to call the address that is in use, or tried next. */
  get name(): string {
    return nameOfAddress(this.#addresses.current)
  }

  /** How many addresses there are to be tried. */
  get count(): number {
    return this.#addresses.count
  }

  /** Goes on to the next address. */
  next(): void {
    this.#addresses.next()
  }

  /** Takes the server reference of a broker that sends us away; whether there is an address of ours in it. */
  refer(reference: unknown): boolean {
    return this.#addresses.refer(reference, this.#options.followReferences)
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
    const { current } = this.#addresses
    const { connectTimeout, cleanStart } = this.#options
    const { username, password } = this.#wayTo(current)
    changeOptions(this.client, {
      username,
      password,
      clean: cleanStart || this.#isAnew || this.#addresses.isChange,
      // One that swallows what it is sent must not keep us from the others.
      connectTimeout: this.count === 1 ? connectTimeout : Math.min(connectTimeout, FIRST_PATIENCE * 2 ** round),
    })
  }

  /** There is a session at the address now. */
  connected(): void {
    this.#isAnew = false
    this.#addresses.arrived()
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
