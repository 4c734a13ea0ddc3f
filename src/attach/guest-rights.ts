import type { Glob } from '../engine/glob.js'
import type { KeyRights } from '../engine/rights.js'
import type { Client } from '../peer/client.js'
import type { Policy } from '../policy/policy.js'
import { Rights } from '../policy/rights.js'

/** What a policy lets clients do with keys, by their client ids alone: of users a broker says nothing. */
export class GuestRights implements KeyRights<Client> {
  readonly #policy: Policy
  readonly #known = new WeakMap<Client, Rights>()

  constructor(policy: Policy) {
    this.#policy = policy
  }

  mayRead(guest: Client, key: Uint8Array): boolean {
    return this.#of(guest).allows({ type: 'read', key })
  }

  mayWrite(guest: Client, key: Uint8Array): boolean {
    return this.#of(guest).allows({ type: 'write', key })
  }

  readable(guest: Client): Glob {
    return this.#of(guest).readable
  }

  #of(guest: Client): Rights {
    const known = this.#known.get(guest)
    if (known !== undefined) return known
    const rights = new Rights(this.#policy, { clientId: guest.clientId, username: undefined, attributes: {} })
    this.#known.set(guest, rights)
    return rights
  }
}
