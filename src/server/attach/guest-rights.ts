import type { Client } from '../../core/mqtt5/peer.js'
import { displayText } from '../../core/util/bytes.js'
import type { Policy } from '../access/policy.js'
import { Rights } from '../access/rights.js'
import type { Glob } from '../engine/glob.js'
import type { KeyRights } from '../engine/rights.js'

/** What a policy lets clients do with keys, by their client ids alone: of users a broker says nothing. */
export class GuestRights implements KeyRights<Client> {
  readonly #policy: Policy
  readonly #refused: (clientId: string, action: 'read' | 'write', key: string) => void
  readonly #known = new WeakMap<Client, Rights>()

  /** @param refused - is told what somebody may not do, with the key as text */
  constructor(policy: Policy, refused: (clientId: string, action: 'read' | 'write', key: string) => void) {
    this.#policy = policy
    this.#refused = refused
  }

  mayRead(guest: Client, key: Uint8Array): boolean {
    return this.#judge(guest, 'read', key)
  }

  mayWrite(guest: Client, key: Uint8Array): boolean {
    return this.#judge(guest, 'write', key)
  }

  readable(guest: Client): Glob {
    return this.#of(guest).readable
  }

  #judge(guest: Client, type: 'read' | 'write', key: Uint8Array): boolean {
    const allowed = this.#of(guest).allows({ type, key })
    if (!allowed) this.#refused(guest.clientId, type, displayText(key))
    return allowed
  }

  #of(guest: Client): Rights {
    const known = this.#known.get(guest)
    if (known !== undefined) return known
    const rights = new Rights(this.#policy, { clientId: guest.clientId, username: undefined, attributes: {} })
    this.#known.set(guest, rights)
    return rights
  }
}
