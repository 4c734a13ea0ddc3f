import type { Observable } from 'rxjs'
import type { Awaitable } from '../../core/util/awaitable.js'
import type { GroupMessage, SendRequest, SendResult } from './events.js'
import { checkNoEcho, checkSendOptions, type GroupSendOptions, toPayload } from './send.js'

/** A period whose group messages were missed, between two sessions. */
export interface Gap {
  readonly group: string
  /** When the hub's last frame of the lost session arrived; wall time, ms since the Unix epoch. */
  readonly from: number
  /** When the group was rejoined; wall time, ms since the Unix epoch. */
  readonly to: number
}

export interface GroupHost {
  readonly send: (request: SendRequest) => Awaitable<SendResult>
  readonly timeout: number
  readonly messages: (group: string) => Observable<GroupMessage>
  readonly gaps: (group: string) => Observable<Gap>
}

/** A group of a hub. Lightweight: create one as needed. */
export class Group {
  readonly name: string
  /**
   * Messages of the group. Hot. All subscribers of a client share one membership: the group is joined for the first
   * subscriber and left after the last one. The membership survives lost connections. A recovered session loses
   * nothing; in a new session the group is rejoined, and {@link gaps$} reports the missed messages.
   *
   * Errors with `pubsub-refused` when the hub rejects a join or rejoin, and with `closed` when the client stops with a
   * cause; completes when the client is closed.
   */
  readonly messages$: Observable<GroupMessage>
  /**
   * Periods whose messages were missed while {@link messages$} was subscribed to: reload the state they affect. Does
   * not join the group.
   */
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
   * Sends to all members of the group; the sender need not be a member. Subscribing or awaiting sends the message once:
   * see {@link Awaitable}. A client's sends leave in the order in which they are subscribed to or awaited. During an
   * outage they wait. Unsubscribing cancels a message that has not left yet.
   *
   * Errors: `timeout` (certainly not delivered), `outcome-unknown` (sent, but the session was lost or no
   * acknowledgement arrived in time), `pubsub-refused`, `overflow`, `closed`, `argument` for data that cannot be
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
