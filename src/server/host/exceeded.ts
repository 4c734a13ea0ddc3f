import type { Client } from '../../core/mqtt5/peer.js'
import { displayText } from '../../core/util/bytes.js'
import type { AuditEvent, Cut } from '../../node/net/audit.js'
import { commandOf } from '../engine/entry.js'
import type { Door } from './door.js'

const LONGEST_TARGET = 256

/** Puts on record what was refused for want of room, and what nobody may do. */
export class Exceeded {
  readonly #door: Door

  constructor(door: Door) {
    this.#door = door
  }

  /** A client id, a topic or a filter. */
  name(client: Client, action: 'connect' | 'publish' | 'subscribe', target: string): void {
    this.#tell(client, action, target)
  }

  /** A topic or filter that is not for this client, whatever a policy says. */
  forbidden(client: Client, action: 'publish' | 'subscribe', target: string): void {
    this.#tell(client, action, target, '')
  }

  /** A network connection. @param client - whose it was, if it was taken at all */
  connection(cut: Cut, client: Client | undefined): void {
    const { audit, guard } = this.#door
    audit.cut({ ...cut, username: client && guard?.usernameOf(client) })
  }

  /** A request to the store. */
  request(client: Client, payload: Uint8Array): void {
    if (!this.#door.audit.heard) return
    const command = commandOf(payload)
    if (command === undefined || command.verb === 'SCAN') return
    if (command.verb === 'GLOBNOTIFY') this.#tell(client, 'read', displayText(command.glob))
    else this.#tell(client, command.verb === 'KEYNOTIFY' ? 'read' : 'write', displayText(command.key))
  }

  #tell(client: Client, action: NonNullable<AuditEvent['action']>, target: string, reason = 'quota'): void {
    const { audit, guard } = this.#door
    const username = guard?.usernameOf(client)
    const { clientId } = client
    audit.tell({
      event: 'refused',
      action,
      clientId,
      username,
      target: target.slice(0, LONGEST_TARGET),
      ...(reason !== '' && { reason }),
    })
  }
}
