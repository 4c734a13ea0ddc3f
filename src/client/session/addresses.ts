import { nameOf } from '../../core/util/host-name.js'

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
export class Addresses {
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
export interface ServerReference {
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
