import { reasonWords } from '../../client/session/reason-words.js'
import type { Clock } from '../../core/util/clock.js'
import { RequestRejectedError } from '../../core/util/errors.js'
import type { Drop } from './outgoing.js'

/** Clients can cause drops as often as they like, and each report may become a line of a log, ms. */
const MIN_INTERVAL_MS = 1_000
/** Of a topic, characters. */
const LONGEST_TOPIC = 200

/** Reports messages that the broker did not take: one in a second, with the number of those that were not reported. */
export class DropReporter {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #report: (error: RequestRejectedError) => void
  #reportedAt = Number.NEGATIVE_INFINITY
  #unreported = 0

  constructor(clock: Pick<Clock, 'monotonic'>, report: (error: RequestRejectedError) => void) {
    this.#clock = clock
    this.#report = report
  }

  dropped(drop: Drop): void {
    const now = this.#clock.monotonic()
    if (now - this.#reportedAt < MIN_INTERVAL_MS) {
      this.#unreported++
      return
    }
    const others = this.#unreported === 0 ? '' : `; ${this.#unreported} more were dropped since the last report`
    this.#reportedAt = now
    this.#unreported = 0
    this.#report(new RequestRejectedError(drop.reasonCode ?? 0, messageOf(drop) + others))
  }
}

function messageOf({ message, reasonCode, cause }: Drop): string {
  const { topic, correlationData } = message
  const what = correlationData === undefined ? 'message' : 'response'
  const shown =
    topic.length > LONGEST_TOPIC ? `${topic.slice(0, LONGEST_TOPIC)}... (${topic.length} characters)` : topic
  const words = reasonCode === undefined ? 'without a reason' : `with ${reasonCode}, ${reasonWords(reasonCode)}`
  const event = {
    'connection-ended': `The broker ended the connection ${words} over`,
    'too-large': 'The broker takes no packet as large as',
    rejected: `The broker rejected ${words}`,
  }[cause]
  return `${event} a ${what} to ${shown}, which was dropped; check which topics and sizes the broker allows`
}
