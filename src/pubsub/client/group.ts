import type { Observable } from 'rxjs'
import type { Awaitable } from '../../core/util/awaitable.js'
import type { GroupMessage, SendRequest, SendResult } from './events.js'
import { type GroupSendOptions, noEchoOf, sendingOf, toPayload } from './send.js'

/** Messages that were missed: published to a group between two sessions. */
export interface Gap {
  readonly group: string
  /** When the lost session was last heard of, and when the group was joined again. Wall time, ms since the Unix epoch. */
  readonly from: number
  readonly to: number
}

/** What groups need of their client. */
export interface GroupHost {
  /** Sends when it is subscribed to. */
  readonly send: (request: SendRequest) => Awaitable<SendResult>
  /** Default of a send, ms. */
  readonly timeout: number
  readonly messages: (group: string) => Observable<GroupMessage>
  readonly gaps: (group: string) => Observable<Gap>
}

/** A group of a hub. Cheap: make one wherever it is needed. */
export class Group {
  readonly name: string
  /**
   * Messages of the group. Hot, one membership for all subscribers of a client: joined for the first, left with the
   * last. It lives on through lost connections. A recovered session loses nothing; after a new one the group is joined
   * again and {@link gaps$} tells that messages were missed.
   *
   * Errors with `pubsub-refused` when the hub refuses to let us join, or join again, and with `closed` when the
   * connection is given up; completes when the client is closed.
   */
  readonly messages$: Observable<GroupMessage>
  /** Each time messages were missed while {@link messages$} is subscribed to: read anew what they would have told. Joins nothing. */
  readonly gaps$: Observable<Gap>
  readonly #host: GroupHost

  /** Use {@link PubSubClient.group}. */
  constructor(name: string, host: GroupHost) {
    this.name = name
    this.messages$ = host.messages(name)
    this.gaps$ = host.gaps(name)
    this.#host = host
  }

  /**
   * Sends to all who joined the group; having joined it oneself is not needed. To be subscribed or awaited, which
   * sends it once: see {@link Awaitable}. Sends of a client leave in the order of that. During an outage they wait.
   * Unsubscribing calls off what has not left yet.
   *
   * Errors: `timeout` (certainly not delivered), `outcome-unknown` (on the wire, and the session lost or no answer in
   * time), `pubsub-refused`, `overflow`, `closed`, `argument` for data without an encoding, longer than 1 MiB, or for
   * which a hub ends the session. Throws `argument` for other wrong data or options.
   *
   * @example
   * ```ts
   * const { duplicate } = await line.send({ celsius: 21 }, { noEcho: true })
   * line.send({ celsius: 22 }).subscribe({ error: report })
   * ```
   */
  send(data: unknown, options: GroupSendOptions = {}): Awaitable<SendResult> {
    const { send, timeout } = this.#host
    const sending = sendingOf(options, timeout)
    const payload = toPayload(data, options.dataType)
    const frame = { type: 'sendToGroup', group: this.name, payload, noEcho: noEchoOf(options) } as const
    return send({ frame, ...sending })
  }
}
