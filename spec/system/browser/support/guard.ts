import type { Page } from 'playwright-core'

/** What chromium logs when a WebSocket cannot be opened, as while a broker is away. */
export const NO_SOCKET = /^console: WebSocket connection to .* failed/

/** A request the page itself gave up. */
const ABORTED = 'net::ERR_ABORTED'

/** Notes what a page must not do: log an error, throw one that nobody catches, ask for what cannot be loaded. */
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

  /** Complaints that fit are fine, those of before as well. */
  allow(...patterns: readonly RegExp[]): void {
    this.#allowed.push(...patterns)
  }

  /** What must not have been. */
  get complaints(): readonly string[] {
    return this.#notes.filter(note => !this.#allowed.some(pattern => pattern.test(note)))
  }
}
