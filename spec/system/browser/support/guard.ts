import type { Page } from 'playwright-core'

/** Chromium's message for a WebSocket that cannot be opened, for example while a broker is down. */
export const NO_SOCKET = /^console: WebSocket connection to .* failed/

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
