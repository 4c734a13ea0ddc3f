import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isAddress, nameOf } from '../../core/util/host-name.js'
import { Refusal } from './refusal.js'

/**
 * Who may ask. The token is what counts; the rest keeps pages of other origins, and names that somebody else made point
 * here, from coming as far as that.
 */
export class Access {
  readonly #token: Buffer
  readonly #hosts: ReadonlySet<string>
  /** Besides those of the host that is asked for. */
  readonly #origins: readonly string[]

  /**
   * @param host - name or address the server was told to listen on
   * @param publicUrl - by which a proxy makes it known
   */
  constructor(token: string, host: string, publicUrl?: URL) {
    this.#token = digest(token)
    this.#hosts = new Set(['localhost', host.toLowerCase(), ...(publicUrl ? [nameOf(publicUrl.host) ?? ''] : [])])
    this.#origins = publicUrl === undefined ? [] : [publicUrl.origin]
  }

  /**
   * The host a request names, without the port. A name that is not ours is refused: with it, a page from there would be
   * of one origin with us (DNS rebinding). An address is what it is.
   */
  checkHost({ host = '' }: IncomingHttpHeaders): string {
    const name = nameOf(host)
    if (name !== undefined && this.#isOurs(name)) return name
    throw new Refusal(403, 'host', 'Ask by address, as localhost, or by the name the console was told to listen on')
  }

  /** Refuses what another origin sends. */
  checkOrigin({ host = '', origin, 'sec-fetch-site': site = 'none' }: IncomingHttpHeaders): void {
    const own = [`http://${host}`, `https://${host}`, ...this.#origins].map(address => address.toLowerCase())
    if (
      (origin !== undefined && !own.includes(origin.toLowerCase())) ||
      !['none', 'same-origin'].includes(String(site))
    ) {
      throw new Refusal(403, 'origin', 'Pages of other origins may not ask')
    }
  }

  /** Whether a request comes with the token. */
  hasToken({ authorization = '' }: IncomingHttpHeaders): boolean {
    return this.knows(tokenOf(authorization))
  }

  /** What is said to one that does not. */
  get refusal(): Refusal {
    return new Refusal(401, 'token', 'The token is missing or wrong; it is printed when the console starts', {
      'www-authenticate': 'Bearer',
    })
  }

  /** Whether it is the token. */
  knows(token: string): boolean {
    // Digests have one length, and comparing them takes one time.
    return timingSafeEqual(digest(token), this.#token)
  }

  #isOurs(name: string): boolean {
    return this.#hosts.has(name) || isAddress(name)
  }
}

const tokenOf = (authorization: string): string => /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
