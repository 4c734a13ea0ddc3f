import { createHash } from 'node:crypto'
import type { Publish } from '../../core/mqtt5/publish.js'

/** How many are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 1_000

/**
 * Messages over which the broker ended the connection. A request that was not acknowledged comes again and its answer would
 * end the next connection too, so an answer is known by its topic and correlation data, a notification by its topic.
 */
export class PoisonMessages {
  readonly #digests = new Set<string>()

  add(message: Publish): void {
    this.#digests.add(digestOf(message))
    const [oldest] = this.#digests
    if (this.#digests.size > MAX_REMEMBERED && oldest !== undefined) this.#digests.delete(oldest)
  }

  has(message: Publish): boolean {
    return this.#digests.size > 0 && this.#digests.has(digestOf(message))
  }
}

/** Clients choose both parts, as long as they like. */
function digestOf({ topic, correlationData }: Publish): string {
  const hash = createHash('sha256').update(topic)
  if (correlationData !== undefined) hash.update('\0').update(correlationData)
  return hash.digest('base64')
}
