import { ArgumentError } from '../../core/util/errors.js'
import type { Payload } from '../wire/frames.js'
import { JsonText } from '../wire/json.js'
import type { EventQueue, EventRequest } from './event-queue.js'
import { type MessageOptions, payloadOf } from './requests.js'

/**
 * An event from a client to the application. If the client requested an acknowledgement, call one of `accept`, `reply`
 * and `refuse`, now or later; the first call counts. Otherwise the event is rejected as `Timeout` after 30 s. A
 * rejected event may be sent again with the same id.
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
  /** Owner of the session's memory quota: its user, or its address if it has no user id. */
  readonly owner: string
  /** Name of the event, chosen by the client. */
  readonly event: string
  /** The exact JSON text sent by the client; `undefined` for data of other types. */
  readonly json: string | undefined
  readonly #eventQueue: EventQueue
  readonly #request: EventRequest
  readonly #now: () => number
  #payload: Payload | undefined

  constructor(eventQueue: EventQueue, request: EventRequest, now: () => number) {
    this.connectionId = request.session.connectionId
    this.userId = request.session.userId
    this.owner = request.session.owner
    this.event = request.event
    const { data } = request.payload
    this.json = data instanceof JsonText ? data.text : undefined
    this.#eventQueue = eventQueue
    this.#request = request
    this.#now = now
  }

  /** Data of the event. JSON is parsed on first access, which may take 0.3 s for a megabyte. */
  get payload(): Payload {
    this.#payload ??= parsePayload(this.#request.payload)
    return this.#payload
  }

  /** Acknowledges the event as processed. */
  accept(): void {
    this.#eventQueue.accept(this.#request, this.#now())
  }

  /**
   * Sends the client a server message, then acknowledges the event as processed. Throws {@link ArgumentError} for data
   * that cannot be sent; the event then still awaits a decision.
   */
  reply(data: unknown, options: MessageOptions = {}): void {
    this.#eventQueue.accept(this.#request, this.#now(), payloadOf(data, options))
  }

  /**
   * Rejects the event.
   *
   * @param name - for programs, such as `Forbidden`; clients may retry after `InternalServerError`. Must not be empty
   * @param message - for people
   */
  refuse(name: string, message = ''): void {
    if (typeof name !== 'string' || name === '') throw new ArgumentError('Expected `name` to be a non-empty string')
    this.#eventQueue.refuse(this.#request, { name, message })
  }
}

const parsePayload = (payload: Payload): Payload =>
  payload.data instanceof JsonText ? { dataType: 'json', data: payload.data.value } : payload
