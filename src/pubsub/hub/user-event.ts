import { ArgumentError } from '../../errors.js'
import type { Payload } from '../wire/frames.js'
import type { EventDesk } from './event-desk.js'
import type { EventRequest } from './event-request.js'
import { type MessageOptions, payloadOf } from './message.js'

/**
 * An event that a client sent to the application. If the client asked for an answer, it waits for one of `accept`,
 * `reply` and `refuse`, now or later; the first call counts. Without any it is refused as `Timeout` after 30 s. What is
 * not accepted may come again with the same id.
 *
 * @example
 * ```ts
 * hub.events$.subscribe(event => {
 *   if (event.event === 'add') event.reply({ total: add(event.payload.data) })
 *   else event.refuse('NotFound', `nobody knows ${event.event}`)
 * })
 * ```
 */
export class UserEvent {
  readonly connectionId: string
  readonly userId: string | undefined
  /** Name of the event. */
  readonly event: string
  readonly payload: Payload
  readonly #desk: EventDesk
  readonly #request: EventRequest

  constructor(desk: EventDesk, request: EventRequest) {
    this.connectionId = request.session.connectionId
    this.userId = request.session.userId
    this.event = request.event
    this.payload = request.payload
    this.#desk = desk
    this.#request = request
  }

  /** Answers that it was processed. */
  accept(): void {
    this.#desk.accept(this.#request)
  }

  /**
   * Sends the client a message from the server, then answers that the event was processed. Throws {@link ArgumentError}
   * for data that cannot be sent; then the event still waits for an answer.
   */
  reply(data: unknown, options: MessageOptions = {}): void {
    this.#desk.accept(this.#request, payloadOf(data, options))
  }

  /**
   * Answers that it was not processed.
   *
   * @param name - for programs, such as `Forbidden`; `InternalServerError` says that trying again may help. Not empty
   * @param message - for people
   */
  refuse(name: string, message = ''): void {
    if (typeof name !== 'string' || name === '') throw new ArgumentError('Expected `name` to be a string, not empty')
    this.#desk.refuse(this.#request, { name, message })
  }
}
