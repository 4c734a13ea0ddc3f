import type { Page } from 'playwright-core'

/** Chromium's message for a WebSocket that cannot be opened, for example while a broker is down. */
export const NO_SOCKET = /^console: WebSocket connection to .* failed/

/** Chromium's errors for an unreachable server, and for a connection that the server breaks before or in a response. */
export const NO_SERVER =
  /net::ERR_(CONNECTION_(REFUSED|RESET|CLOSED)|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|SOCKET_NOT_CONNECTED|FAILED)/

const ABORTED = 'net::ERR_ABORTED'

/** Records complaints about a page: logged errors, uncaught exceptions and failed requests. */
export class Guard {
  readonly #notes: string[] = []
  readonly #allowed: RegExp[] = []

  constructor(page: Page) {
    page.on('console', message => {
      if (message.type() === 'error' || message.type() === 'assert') {
        const { url, lineNumber } = message.location()
        this.#notes.push(`console: ${message.text()} (${url}:${lineNumber})`)
      }
    })
    page.on('pageerror', error => this.#notes.push(`thrown: ${error.stack || error}`))
    page.on('requestfailed', request => {
      const reason = request.failure()?.errorText ?? 'failed'
      if (reason !== ABORTED) this.#notes.push(`request: ${request.url()} ${reason}`)
    })
  }

  /** Ignores matching complaints, including earlier ones. */
  allow(...patterns: readonly RegExp[]): void {
    this.#allowed.push(...patterns)
  }

  get complaints(): readonly string[] {
    return this.#notes.filter(note => !this.#allowed.some(pattern => pattern.test(note)))
  }
}
