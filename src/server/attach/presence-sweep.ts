import type { Done } from '../../client/session/session.js'
import type { Publish } from '../../core/mqtt5/publish.js'
import { PROPERTY, PROTOCOL_VERSION, STATUS } from '../../core/protocol/properties.js'
import type { Clock } from '../../core/util/clock.js'
import { randomBytes } from '../../core/util/random.js'
import type { Guest, Guests } from './guests.js'

/** How often some of the clients are looked at, ms. */
const INTERVAL_MS = 1_000
/** How many at a time. */
const MAX_AT_ONCE = 1_000
/** A client that was heard or found within so long is not asked for, ms. */
const SILENCE_MS = 60_000
/** A client that is away with its session gets nothing old, s. */
const EXPIRY_SECONDS = 1
const NOTHING = new Uint8Array(0)

/**
 * Ends the watches of clients that have left, when watches become scarce. A broker tells of nobody, but says when nobody
 * subscribes to what is published: so each client that was not heard for a minute gets a response to no request, which
 * clients ignore as one that is late.
 */
export class PresenceSweep {
  readonly #guests: Guests
  readonly #isScarce: () => boolean
  readonly #publish: (message: Publish, done: Done) => void
  readonly #clock: Pick<Clock, 'schedule'>
  #rest: Iterator<Guest> | undefined
  #cancel: () => void = () => undefined

  constructor(
    guests: Guests,
    isScarce: () => boolean,
    publish: (message: Publish, done: Done) => void,
    clock: Pick<Clock, 'schedule'>,
  ) {
    this.#guests = guests
    this.#isScarce = isScarce
    this.#publish = publish
    this.#clock = clock
  }

  start(): void {
    this.#cancel()
    this.#cancel = this.#clock.schedule(INTERVAL_MS, () => {
      if (this.#isScarce()) this.#sweep()
      this.start()
    })
  }

  stop(): void {
    this.#cancel()
  }

  #sweep(): void {
    this.#rest ??= this.#guests.watching()
    for (let i = 0; i < MAX_AT_ONCE; i++) {
      const { value: guest, done } = this.#rest.next()
      if (done) {
        this.#rest = undefined
        return
      }
      if (guest.responseTopic !== undefined && this.#guests.isSilent(guest, SILENCE_MS))
        this.#ask(guest, guest.responseTopic)
    }
  }

  #ask(guest: Guest, topic: string): void {
    const { heard } = guest
    const message: Publish = {
      topic,
      payload: NOTHING,
      correlationData: randomBytes(16),
      messageExpiry: EXPIRY_SECONDS,
      userProperties: { [PROPERTY.status]: String(STATUS.unavailable), [PROPERTY.protocolVersion]: PROTOCOL_VERSION },
    }
    this.#publish(message, refusal => this.#guests.answered(guest, heard, topic, refusal))
  }
}
