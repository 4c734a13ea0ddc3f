import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** The token that requests to an HTTP server must carry. */
export class BearerToken {
  readonly #digest: Buffer

  constructor(token: string) {
    this.#digest = digest(token)
  }

  /** Returns whether a text is the token. Compares digests in constant time, because they have equal lengths. */
  matches(text: string): boolean {
    return timingSafeEqual(digest(text), this.#digest)
  }

  isIn({ authorization = '' }: IncomingHttpHeaders): boolean {
    return this.matches(/^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '')
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
