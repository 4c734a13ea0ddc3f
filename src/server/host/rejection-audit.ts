import type { Client } from '../../core/mqtt5/peer.js'
import { displayText } from '../../core/util/bytes.js'
import type { AuditEvent, Disconnection } from '../../node/net/audit.js'
import { tryParseCommand } from '../engine/entry.js'
import type { AccessControl } from './security.js'

const MAX_TARGET_LENGTH = 256

/** Reports the actions and connections that a store rejects. */
export class RejectionAudit {
  readonly #access: AccessControl

  constructor(access: AccessControl) {
    this.#access = access
  }

  recordQuotaExceeded(client: Client, action: 'connect' | 'publish' | 'subscribe', target: string): void {
    this.#record(client, action, target)
  }

  /** Records an attempt to use a topic or filter that the client must not use under any policy. */
  recordForbidden(client: Client, action: 'publish' | 'subscribe', target: string): void {
    this.#record(client, action, target, '')
  }

  /** @param client - the client of the connection, if its CONNECT was accepted */
  recordCut(cut: Disconnection, client: Client | undefined): void {
    const { audit, authorizer } = this.#access
    audit.reportCut({ ...cut, username: client && authorizer?.usernameOf(client) })
  }

  recordRejectedRequest(client: Client, payload: Uint8Array): void {
    if (!this.#access.audit.isObserved) return
    const command = tryParseCommand(payload)
    if (command === undefined || command.verb === 'SCAN') return
    if (command.verb === 'GLOBNOTIFY') this.#record(client, 'read', displayText(command.glob))
    else this.#record(client, command.verb === 'KEYNOTIFY' ? 'read' : 'write', displayText(command.key))
  }

  #record(client: Client, action: NonNullable<AuditEvent['action']>, target: string, reason = 'quota'): void {
    const { audit, authorizer } = this.#access
    const username = authorizer?.usernameOf(client)
    const { clientId } = client
    audit.report({
      event: 'refused',
      action,
      clientId,
      username,
      target: target.slice(0, MAX_TARGET_LENGTH),
      ...(reason !== '' && { reason }),
    })
  }
}
