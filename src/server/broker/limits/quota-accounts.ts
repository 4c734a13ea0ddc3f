import { MOST_USER_PROPERTIES } from '../../../core/mqtt5/data-types.js'
import { PacketError } from '../../../core/mqtt5/packet-error.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { isThisMachine, networkOf } from '../../../node/limits/network.js'
import { RateLimiter } from '../../../node/limits/rate.js'

/** How much one may have. `Infinity` for any number. */
export interface AccountQuotas {
  /** Of clients that were let in. */
  readonly connections: number
  readonly subscriptions: number
  /** Retained messages, and their bytes. */
  readonly retained: number
  readonly retainedBytes: number
  /** What waits for sessions whose client is away, bytes. */
  readonly waitingBytes: number
}

/** How fast one may be, or all together; who is faster is read more slowly. `Infinity` for any speed. */
export interface RateQuotas {
  /** Packets but for acknowledgements, which are about what we sent. */
  readonly packetsPerSecond: number
  readonly bytesPerSecond: number
  /** What scans cost: bytes of keys that are compared, times the words of 32 states that the globs take. */
  readonly workPerSecond: number
}

/** How much there may be in all, beside the memory that all share. */
interface TotalQuotas extends RateQuotas {
  readonly subscriptions: number
  readonly retained: number
  readonly retainedBytes: number
}

/** The quotas of a broker. */
export interface BrokerQuotas {
  /** Of a principal; and of an address, for all those there that have proved nothing. */
  readonly principal: AccountQuotas & RateQuotas
  /** Of all connections from one address, whoever they are. This machine, where proxies are as well, has none. */
  readonly address: RateQuotas
  readonly total: TotalQuotas
  /** Of one packet. */
  readonly userProperties: number
}

const ANY = Number.POSITIVE_INFINITY
const ANY_SPEED: RateQuotas = { packetsPerSecond: ANY, bytesPerSecond: ANY, workPerSecond: ANY }

/** Any number of anything. */
const ANY_NUMBER: AccountQuotas = {
  connections: ANY,
  subscriptions: ANY,
  retained: ANY,
  retainedBytes: ANY,
  waitingBytes: ANY,
}

/** No quotas at all, for those that have bounds of another kind. */
export const NO_QUOTAS: BrokerQuotas = {
  principal: { ...ANY_NUMBER, ...ANY_SPEED },
  address: ANY_SPEED,
  total: { ...ANY_NUMBER, ...ANY_SPEED },
  userProperties: MOST_USER_PROPERTIES,
}

/** Whether a rate slows anybody. */
const slows = ({ packetsPerSecond, bytesPerSecond, workPerSecond }: RateQuotas): boolean =>
  Math.min(packetsPerSecond, bytesPerSecond, workPerSecond) < ANY

/**
 * Counts what there is of something of which there may only be so much.
 *
 * @example
 * ```ts
 * if (!subscriptions.take()) refuse()
 * ```
 */
export class BoundedCounter {
  readonly most: number
  #used = 0
  #refused = 0

  /** @param most - `Infinity` for any number */
  constructor(most: number) {
    this.most = most
  }

  /** How much there is. */
  get used(): number {
    return this.#used
  }

  /** How often there was no room. */
  get refused(): number {
    return this.#refused
  }

  /** Whether there is no room for more. */
  get full(): boolean {
    return this.#used >= this.most
  }

  /** Takes some, if there is as much room; returns whether there was. */
  take(amount = 1): boolean {
    if (this.#used + amount > this.most) {
      this.refuse()
      return false
    }
    this.#used += amount
    return true
  }

  /** Counts what is there already, or, negative, is gone. */
  count(amount: number): void {
    this.#used += amount
  }

  /** Gives some back. */
  give(amount = 1): void {
    this.#used -= amount
  }

  /** Counts a refusal for want of room. */
  refuse(): void {
    this.#refused++
  }
}

/**
 * What one has who has to keep to quotas: a principal with all its connections, or an address with all those that have
 * proved nothing.
 */
export class QuotaAccount {
  readonly name: string
  readonly connections: BoundedCounter
  readonly subscriptions: BoundedCounter
  readonly retained: BoundedCounter
  readonly retainedBytes: BoundedCounter
  /** What waits for sessions whose client is away, bytes. */
  readonly waitingBytes: BoundedCounter
  readonly #now: () => number
  readonly #packets: RateLimiter
  readonly #bytes: RateLimiter
  readonly #work: RateLimiter
  #pauses = 0

  /** @param now - monotonic, ms */
  constructor(name: string, quotas: AccountQuotas, rates: RateQuotas, now: () => number) {
    this.name = name
    this.#now = now
    this.connections = new BoundedCounter(quotas.connections)
    this.subscriptions = new BoundedCounter(quotas.subscriptions)
    this.retained = new BoundedCounter(quotas.retained)
    this.retainedBytes = new BoundedCounter(quotas.retainedBytes)
    this.waitingBytes = new BoundedCounter(quotas.waitingBytes)
    this.#packets = new RateLimiter(rates.packetsPerSecond)
    this.#bytes = new RateLimiter(rates.bytesPerSecond)
    this.#work = new RateLimiter(rates.workPerSecond)
  }

  /** How often a connection was made to wait. */
  get pauses(): number {
    return this.#pauses
  }

  /** Packets came, and bytes, at monotonic time `now` (ms); returns how long to read nothing, ms. */
  charge(packets: number, bytes: number, now: number): number {
    this.#packets.charge(packets, now)
    this.#bytes.charge(bytes, now)
    return this.wait(now)
  }

  /** How many packets may be taken before it is charged again: those there is room for, and the one that is too many. */
  room(now: number): number {
    return this.wait(now) > 0 ? 0 : Math.floor(this.#packets.room(now)) + 1
  }

  /** Something was done that takes more than most; see `workPerSecond`. */
  worked(work: number): void {
    this.#work.charge(work, this.#now())
  }

  /** How long to read nothing, ms. */
  wait(now: number): number {
    return Math.max(this.#packets.wait(now), this.#bytes.wait(now), this.#work.wait(now))
  }

  /** A connection is made to wait. */
  paused(): void {
    this.#pauses++
  }

  /** Whether it has nothing, and nothing that it did counts any more. */
  idle(now: number): boolean {
    const tallies = [this.connections, this.subscriptions, this.retained, this.retainedBytes, this.waitingBytes]
    const rates = [this.#packets, this.#bytes, this.#work]
    return tallies.every(({ used }) => used === 0) && rates.every(rate => rate.rested(now))
  }
}

/**
 * Counts a connection. Raises {@link PacketError} when there are as many as there may be.
 *
 * @param replacing - one of them is about to end for this one
 * @param refused - called before it raises that
 */
export function enter(account: QuotaAccount | undefined, replacing: boolean, refused: () => void): void {
  if (account === undefined) return
  const { connections } = account
  if (replacing) connections.count(1)
  else if (!connections.take()) {
    refused()
    throw new PacketError(REASON.quotaExceeded, `there are ${connections.most} connections of the same principal`)
  }
}

/** With fewer accounts it is not looked for those that have nothing. */
const FEW = 1_024

/** All who have to keep to quotas. */
export class QuotaAccounts {
  /** Of all together. */
  readonly subscriptions: BoundedCounter
  /** Of one packet. */
  readonly mostUserProperties: number
  readonly #total: QuotaAccount
  readonly #quotas: BrokerQuotas
  readonly #now: () => number
  readonly #slowsAll: boolean
  readonly #principals = new Map<string, QuotaAccount>()
  readonly #addresses = new Map<string, QuotaAccount>()
  #sweepAt = FEW

  /** @param now - monotonic, ms */
  constructor(quotas: BrokerQuotas, now: () => number) {
    this.#quotas = quotas
    this.#now = now
    this.mostUserProperties = quotas.userProperties
    this.#slowsAll = slows(quotas.total)
    this.subscriptions = new BoundedCounter(quotas.total.subscriptions)
    this.#total = new QuotaAccount('', ANY_NUMBER, quotas.total, now)
  }

  /** Those who have something, or had lately: principals, and addresses of those who have proved nothing. */
  get principals(): Iterable<QuotaAccount> {
    return this.#principals.values()
  }

  /**
   * Whose a client is that was let in: its principal's; or its address's, when it has proved nothing. `undefined` for one
   * that has proved nothing on this machine, which may do what it likes.
   */
  of(holder: { readonly id: string } | undefined, address: string | undefined): QuotaAccount | undefined {
    if (holder !== undefined && holder.id !== '') return this.#principal(holder.id)
    return isForeign(address) ? this.#principal(`at ${networkOf(address)}`) : undefined
  }

  /** Those by which a connection is slowed before it is known whose it is. */
  pacersOf(address: string | undefined): QuotaAccount[] {
    const pacers = this.#slowsAll ? [this.#total] : []
    if (isForeign(address)) pacers.push(this.#address(networkOf(address)))
    return pacers
  }

  #principal(name: string): QuotaAccount {
    const { principal } = this.#quotas
    return this.#account(this.#principals, name, principal, principal)
  }

  #address(name: string): QuotaAccount {
    return this.#account(this.#addresses, name, ANY_NUMBER, this.#quotas.address)
  }

  #account(accounts: Map<string, QuotaAccount>, name: string, quotas: AccountQuotas, rates: RateQuotas): QuotaAccount {
    const known = accounts.get(name)
    if (known !== undefined) return known
    if (this.#principals.size + this.#addresses.size >= this.#sweepAt) this.#sweep()
    const account = new QuotaAccount(name, quotas, rates, this.#now)
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
