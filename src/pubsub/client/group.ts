import type { Observable } from 'rxjs'
import type { Awaitable } from '../../core/util/awaitable.js'
import type { GroupMessage, SendRequest, SendResult } from './events.js'
import { checkNoEcho, checkSendOptions, type GroupSendOptions, toPayload } from './send.js'

/** A period between two sessions, in which messages of a group were missed. */
export interface Gap {
  readonly group: string
  /** The time when the hub's last frame of the lost session arrived, in ms since the Unix epoch. */
  readonly from: number
  /** The time when the group was rejoined, in ms since the Unix epoch. */
  readonly to: number
}

export interface GroupHost {
  readonly send: (request: SendRequest) => Awaitable<SendResult>
  readonly timeout: number
  readonly messages: (group: string) => Observable<GroupMessage>
  readonly gaps: (group: string) => Observable<Gap>
}

/** A group of a hub. Groups are lightweight, so create one as needed. */
export class Group {
  readonly name: string
  /**
   * The group's messages. Hot. All subscribers of a client share one membership: the client joins the group for
   * the first subscriber and leaves it after the last one. The membership survives lost connections. A recovered
   * session loses no messages. In a new session, the client rejoins the group, and {@link gaps$} reports the missed
   * messages.
   *
   * Errors with `pubsub-refused` when the hub rejects a join or rejoin, and with `closed` when the client stops with a
   * cause; and completes when the client is closed.
   */
  readonly messages$: Observable<GroupMessage>
  /**
   * The periods whose messages were missed while {@link messages$} was subscribed to. Reload the state that they
   * affect. Subscribing does not join the group.
   */
  readonly gaps$: Observable<Gap>
  readonly #host: GroupHost

  constructor(name: string, host: GroupHost) {
    this.name = name
    this.messages$ = host.messages(name)
    this.gaps$ = host.gaps(name)
    this.#host = host
  }

  /**
   * Sends to all members of the group, at once. The sender does not have to be a member. The result can be awaited or
   * subscribed to; the first subscription gets the result of this send, and a subscription after it has ended sends
   * again. A client's sends leave in the order of the calls. During an outage they wait. Unsubscribing cancels a message
   * that has not been sent yet.
   *
   * Errors: `timeout` (certainly not delivered), `outcome-unknown` (sent, but the session was lost or no
   * acknowledgement arrived in time), `pubsub-refused`, `overflow`, `closed`, and `argument` for data that cannot be
   * encoded, exceeds 1 MiB or makes a hub end the session. Throws `argument` for other invalid data or options.
   *
   * @example
   * ```ts
   * const { duplicate } = await line.send({ celsius: 21 }, { noEcho: true })
   * line.send({ celsius: 22 }).subscribe({ error: report })
   * ```
   */
  send(data: unknown, options: GroupSendOptions = {}): Awaitable<SendResult> {
    const { send, timeout } = this.#host
    const sending = checkSendOptions(options, timeout)
    const payload = toPayload(data, options.dataType)
    const frame = { type: 'sendToGroup', group: this.name, payload, noEcho: checkNoEcho(options) } as const
    return send({ frame, ...sending })
  }
}
