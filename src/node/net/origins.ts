import type { IncomingHttpHeaders } from 'node:http'
import { checkArgument } from '../../core/util/check.js'
import { isAddress, isLoopback, nameOf } from '../../core/util/host-name.js'

/**
 * Decides by their `Origin` which browser pages may connect. Other programs send no origin and cannot be tricked into
 * connecting. Pages from this machine, the requested host and listed origins are allowed. The requested host must
 * be a name of this server; otherwise a page whose name was pointed at this server would share its origin (DNS
 * rebinding).
 */
export class Origins {
  readonly #host: string
  readonly #allowed: ReadonlySet<string>
  readonly #allowedHosts: ReadonlySet<string>

  /**
   * @param host - name or address on which the server listens
   * @param allowed - further origins, such as `https://panel.example`
   */
  constructor(host: string, allowed: readonly string[]) {
    this.#host = host.toLowerCase()
    this.#allowed = new Set(allowed.map(origin => origin.toLowerCase()))
    this.#allowedHosts = new Set(allowed.flatMap(origin => nameOf(new URL(origin).host) ?? []))
  }

  allow({ origin, host = '' }: IncomingHttpHeaders): boolean {
    if (origin === undefined || this.#allowed.has(origin.toLowerCase())) return true
    const requestHost = nameOf(host)
    const page = URL.canParse(origin) ? nameOf(new URL(origin).host) : undefined
    if (requestHost === undefined || page === undefined || !this.#isOurs(requestHost)) return false
    return page === requestHost || (isLoopback(page) && isLoopback(requestHost))
  }

  #isOurs(name: string): boolean {
    return isLoopback(name) || isAddress(name) || name === this.#host || this.#allowedHosts.has(name)
  }
}

export function checkOrigins(origins: readonly string[]): void {
  const isOrigin = (origin: unknown): boolean =>
    typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin.toLowerCase()
  checkArgument(
    Array.isArray(origins) && origins.every(isOrigin),
    '`allowedOrigins` to be a list of origins such as `https://panel.example`',
    origins,
  )
}
