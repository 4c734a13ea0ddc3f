import { ArgumentError } from '../../core/util/errors.js'
import type { Payload } from '../wire/frames.js'
import { JsonText } from '../wire/json.js'
import type { EventQueue, EventRequest } from './event-queue.js'
import { type MessageOptions, payloadOf } from './requests.js'

/**
 * An event that a client sent to the application. If the client asked for an answer, call one of `accept`, `reply`
 * and `refuse`, now or later; the first call counts. Without a call it is refused as `Timeout` after 30 s. An event that
 * was refused may come again with the same id.
 *
 * @example
 * ```ts
 * hub.events$.subscribe(event => {
 *   if (event.event === 'add') event.reply({ total: add(event.payload.data) })
 *   else event.refuse('NotFound', `there is no ${event.event}`)
 * })
 * ```
 */
export class UserEvent {
  readonly connectionId: string
  readonly userId: string | undefined
  /** Accounts for what is held for it: its user, or the address of a session without a user id. */
  readonly owner: string
  /** Name of the event. */
  readonly event: string
  /** Data of type `json` character by character as the client wrote it; `undefined` for any other. */
  readonly json: string | undefined
  readonly #desk: EventQueue
  readonly #request: EventRequest
  readonly #now: () => number
  #payload: Payload | undefined

  /** @param now - ms of the hub's clock */
  constructor(desk: EventQueue, request: EventRequest, now: () => number) {
    this.connectionId = request.session.connectionId
    this.userId = request.session.userId
    this.owner = request.session.owner
    this.event = request.event
    const { data } = request.payload
    this.json = data instanceof JsonText ? data.text : undefined
    this.#desk = desk
    this.#request = request
    this.#now = now
  }

  /** What it carries. Data of type `json` is parsed when it is read first, which may take 0.3 s for a megabyte. */
  get payload(): Payload {
    this.#payload ??= parsed(this.#request.payload)
    return this.#payload
  }

  /** Answers that it was processed. */
  accept(): void {
    this.#desk.accept(this.#request, this.#now())
  }

  /**
   * Sends the client a message from the server, then answers that the event was processed. Throws {@link ArgumentError}
   * for data that cannot be sent; then the event still waits for an answer.
   */
  reply(data: unknown, options: MessageOptions = {}): void {
    this.#desk.accept(this.#request, this.#now(), payloadOf(data, options))
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

const parsed = (payload: Payload): Payload =>
  payload.data instanceof JsonText ? { dataType: 'json', data: payload.data.value } : payload
