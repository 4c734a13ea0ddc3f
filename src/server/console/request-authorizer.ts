import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isAddress, nameOf } from '../../core/util/host-name.js'
import { BearerToken } from '../../node/net/bearer-token.js'
import { hasSeveralHosts } from '../../node/net/http.js'
import { HttpProblem } from '../../node/net/http-problem.js'

/**
 * Authorizes requests by the token. In addition, the origin and host checks reject every request of another page, or to
 * a foreign name that resolves to this machine.
 */
export class RequestAuthorizer {
  readonly token: BearerToken
  readonly #hosts: ReadonlySet<string>
  /** The permitted origins in addition to the origin of the requested host. */
  readonly #origins: readonly string[]

  /**
   * @param host - name or address on which the server listens
   * @param publicUrl - URL of the console behind a proxy
   */
  constructor(token: string, host: string, publicUrl?: URL) {
    this.token = new BearerToken(token)
    this.#hosts = new Set(['localhost', host.toLowerCase(), ...(publicUrl ? [nameOf(publicUrl.host) ?? ''] : [])])
    this.#origins = publicUrl === undefined ? [] : [publicUrl.origin]
  }

  /**
   * Returns the host name of a request. Rejects foreign names, because a page at such a name would share the console's
   * origin (DNS rebinding). Any IP address is accepted.
   */
  checkHost(request: IncomingMessage): string {
    if (hasSeveralHosts(request)) throw new HttpProblem(400, 'host', 'The request has more than one Host header')
    const name = nameOf(request.headers.host ?? '')
    if (name !== undefined && this.#isAllowedHost(name)) return name
    throw new HttpProblem(
      403,
      'host',
      'Unknown host name: use an IP address, localhost, or the host name of the console',
    )
  }

  checkOrigin({ host = '', origin, 'sec-fetch-site': site = 'none' }: IncomingHttpHeaders): void {
    const permittedOrigins = [`http://${host}`, `https://${host}`, ...this.#origins].map(address =>
      address.toLowerCase(),
    )
    if (
      (origin !== undefined && !permittedOrigins.includes(origin.toLowerCase())) ||
      !['none', 'same-origin'].includes(String(site))
    ) {
      throw new HttpProblem(403, 'origin', 'Requests from other origins are not permitted')
    }
  }

  get tokenProblem(): HttpProblem {
    return new HttpProblem(401, 'token', 'The token is missing or wrong; it is printed when the console starts', {
      'www-authenticate': 'Bearer',
    })
  }

  #isAllowedHost(name: string): boolean {
    return this.#hosts.has(name) || isAddress(name)
  }
}
