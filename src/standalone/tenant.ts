import type { Holder } from '../broker/handler.js'
import { ownerOf, type Principal } from '../identity/principal.js'
import type { Policy } from '../policy/policy.js'
import { Rights } from '../policy/rights.js'
import { isOwnStoreTopic } from '../server/access.js'

/** Somebody who is let in, and what it may do by the policy that is in force. */
export class Tenant implements Holder {
  readonly id: string
  readonly clientId: string
  readonly username: string | undefined
  readonly #principal: Principal
  readonly #policyOf: () => Policy
  #policy: Policy
  #rights: Rights

  /** @param policyOf - the policy that is in force */
  constructor(principal: Principal, clientId: string, policyOf: () => Policy) {
    this.id = ownerOf(principal)
    this.clientId = clientId
    this.username = principal.username
    this.#principal = principal
    this.#policyOf = policyOf
    this.#policy = policyOf()
    this.#rights = this.#look(this.#policy)
  }

  /** What it may do now. */
  get rights(): Rights {
    const policy = this.#policyOf()
    if (policy !== this.#policy) {
      this.#policy = policy
      this.#rights = this.#look(policy)
    }
    return this.#rights
  }

  get welcome(): boolean {
    return this.rights.allows({ type: 'connect' })
  }

  maySubscribe(filter: string): boolean {
    return isOwnStoreTopic(this.clientId, filter) || this.rights.allows({ type: 'subscribe', filter })
  }

  mayPublish(topic: string): boolean {
    return this.rights.allows({ type: 'publish', topic })
  }

  #look(policy: Policy): Rights {
    const { username, attributes } = this.#principal
    return new Rights(policy, { clientId: this.clientId, username, attributes })
  }
}
