import { ArgumentError } from '../../core/util/errors.js'
import type { Payload } from '../wire/frames.js'
import { JsonText } from '../wire/json.js'
import type { EventQueue, EventRequest } from './event-queue.js'
import { type MessageOptions, payloadOf } from './requests.js'

/**
 * An event from a client to the application. If the client requested an acknowledgement, call one of `accept`, `reply`
 * and `refuse`, now or later. The first call counts. Otherwise the event is rejected as `Timeout` after 30 s. A
 * rejected event may be sent again with the same id.
 *
 * @example
 * ```ts
 * hub.events$.subscribe(event => {
 *   if (event.event === 'add')
 *     event.reply({ total: add(event.payload.data) })
 *   else event.refuse('NotFound', `there is no ${event.event}`)
 * })
 * ```
 */
export class UserEvent {
  readonly connectionId: string
  readonly userId: string | undefined
  /** The owner of the session's memory quota: the user, or the address if the session has no user id. */
  readonly owner: string
  /** The name of the event, which the client chooses. */
  readonly event: string
  /** The exact JSON text that the client sent, or `undefined` for data of other types. */
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

  /** The data of the event. JSON is parsed on the first access, which may take 0.3 s for a megabyte. */
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
   * that cannot be sent, in which case the event still awaits a decision.
   */
  reply(data: unknown, options: MessageOptions = {}): void {
    this.#eventQueue.accept(this.#request, this.#now(), payloadOf(data, options))
  }

  /**
   * Rejects the event.
   *
   * @param name - name for programs, such as `Forbidden`, which must not be empty; clients may retry after
   * `InternalServerError`
   * @param message - text for people
   */
  refuse(name: string, message = ''): void {
    if (typeof name !== 'string' || name === '') throw new ArgumentError('Expected `name` to be a non-empty string')
    this.#eventQueue.refuse(this.#request, { name, message })
  }
}

const parsePayload = (payload: Payload): Payload =>
  payload.data instanceof JsonText ? { dataType: 'json', data: payload.data.value } : payload
