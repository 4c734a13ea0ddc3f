import { isThisMachine, networkOf } from '../../../node/limits/network.js'
import { Account } from '../limits/account.js'
import { type AccountQuotas, ANY_NUMBER, type BrokerQuotas, type RateQuotas, slows } from '../limits/quotas.js'
import { Tally } from '../limits/tally.js'
import type { Holder } from './handler.js'

/** With fewer accounts it is not looked for those that have nothing. */
const FEW = 1_024

/** All who have to keep to quotas. */
export class Accounts {
  /** Of all together. */
  readonly subscriptions: Tally
  /** Of one packet. */
  readonly mostUserProperties: number
  readonly #total: Account
  readonly #quotas: BrokerQuotas
  readonly #now: () => number
  readonly #slowsAll: boolean
  readonly #principals = new Map<string, Account>()
  readonly #addresses = new Map<string, Account>()
  #sweepAt = FEW

  /** @param now - monotonic, ms */
  constructor(quotas: BrokerQuotas, now: () => number) {
    this.#quotas = quotas
    this.#now = now
    this.mostUserProperties = quotas.userProperties
    this.#slowsAll = slows(quotas.total)
    this.subscriptions = new Tally(quotas.total.subscriptions)
    this.#total = new Account('', ANY_NUMBER, quotas.total, now)
  }

  /** Those who have something, or had lately: principals, and addresses of those who have proved nothing. */
  get principals(): Iterable<Account> {
    return this.#principals.values()
  }

  /**
   * Whose a client is that was let in: its principal's; or its address's, when it has proved nothing. `undefined` for one
   * that has proved nothing on this machine, which may do what it likes.
   */
  of(holder: Holder | undefined, address: string | undefined): Account | undefined {
    if (holder !== undefined && holder.id !== '') return this.#principal(holder.id)
    return isForeign(address) ? this.#principal(`at ${networkOf(address)}`) : undefined
  }

  /** Those by which a connection is slowed before it is known whose it is. */
  pacersOf(address: string | undefined): Account[] {
    const pacers = this.#slowsAll ? [this.#total] : []
    if (isForeign(address)) pacers.push(this.#address(networkOf(address)))
    return pacers
  }

  #principal(name: string): Account {
    const { principal } = this.#quotas
    return this.#account(this.#principals, name, principal, principal)
  }

  #address(name: string): Account {
    return this.#account(this.#addresses, name, ANY_NUMBER, this.#quotas.address)
  }

  #account(accounts: Map<string, Account>, name: string, quotas: AccountQuotas, rates: RateQuotas): Account {
    const known = accounts.get(name)
    if (known !== undefined) return known
    if (this.#principals.size + this.#addresses.size >= this.#sweepAt) this.#sweep()
    const account = new Account(name, quotas, rates, this.#now)
    accounts.set(name, account)
    return account
  }

  /** Forgets those that have nothing; the more are left, the later it looks again. */
  #sweep(): void {
    const now = this.#now()
    for (const accounts of [this.#principals, this.#addresses])
      for (const [name, account] of accounts) if (account.idle(now)) accounts.delete(name)
    this.#sweepAt = Math.max(FEW, 2 * (this.#principals.size + this.#addresses.size))
  }
}

const isForeign = (address: string | undefined): address is string =>
  address !== undefined && address !== '' && !isThisMachine(address)
