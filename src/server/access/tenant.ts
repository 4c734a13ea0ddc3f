import { notificationPrefix } from '../../core/protocol/topics.js'
import { fromHex } from '../../core/util/bytes.js'
import type { Holder } from '../broker/session/handler.js'
import { isOwnStoreTopic } from '../service/access.js'
import type { Policy } from './policy.js'
import { ownerOf, type Principal } from './principal.js'
import { Rights } from './rights.js'

/** Stands in where there is no policy: its rules are never asked. */
const NO_POLICY: Policy = { rules: [] }

/** Somebody who is let in, and what it may do by the policy that is in force. */
export class Tenant implements Holder {
  readonly id: string
  readonly clientId: string
  readonly username: string | undefined
  readonly #principal: Principal
  readonly #policyOf: () => Policy | undefined
  #policy: Policy | undefined
  #rights: Rights

  /** @param policyOf - the policy that is in force; without one everything may be done */
  constructor(principal: Principal, clientId: string, policyOf: () => Policy | undefined) {
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
    return this.#free || this.rights.allows({ type: 'connect' })
  }

  maySubscribe(filter: string): boolean {
    return this.#free || isOwnStoreTopic(this.clientId, filter) || this.rights.allows({ type: 'subscribe', filter })
  }

  mayHear(topic: string): boolean {
    if (this.#free) return true
    const notifications = notificationPrefix(this.clientId)
    const key = topic.startsWith(notifications) ? fromHex(topic.slice(notifications.length)) : undefined
    return key === undefined ? this.maySubscribe(topic) : this.rights.allows({ type: 'read', key })
  }

  mayPublish(topic: string): boolean {
    return this.rights.allows({ type: 'publish', topic })
  }

  get #free(): boolean {
    return this.#policyOf() === undefined
  }

  #look(policy: Policy | undefined): Rights {
    const { username, attributes } = this.#principal
    return new Rights(policy ?? NO_POLICY, { clientId: this.clientId, username, attributes })
  }
}
