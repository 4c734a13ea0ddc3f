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

const UNLIMITED = Number.POSITIVE_INFINITY
const UNLIMITED_RATES: RateQuotas = { packetsPerSecond: UNLIMITED, bytesPerSecond: UNLIMITED, workPerSecond: UNLIMITED }

/** Any number of anything. */
const UNLIMITED_COUNTS: AccountQuotas = {
  connections: UNLIMITED,
  subscriptions: UNLIMITED,
  retained: UNLIMITED,
  retainedBytes: UNLIMITED,
  waitingBytes: UNLIMITED,
}

/** No quotas at all, for those that have bounds of another kind. */
export const NO_QUOTAS: BrokerQuotas = {
  principal: { ...UNLIMITED_COUNTS, ...UNLIMITED_RATES },
  address: UNLIMITED_RATES,
  total: { ...UNLIMITED_COUNTS, ...UNLIMITED_RATES },
  userProperties: MOST_USER_PROPERTIES,
}

/** Whether a rate slows anybody. */
const isLimiting = ({ packetsPerSecond, bytesPerSecond, workPerSecond }: RateQuotas): boolean =>
  Math.min(packetsPerSecond, bytesPerSecond, workPerSecond) < UNLIMITED

/**
 * Counts what there is of something of which there may only be so much.
 *
 * @example
 * ```ts
 * if (!subscriptions.take()) refuse()
 * ```
 */
export class BoundedCounter {
  readonly limit: number
  #used = 0
  #refused = 0

  /** @param limit - `Infinity` for any number */
  constructor(limit: number) {
    this.limit = limit
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
  get isFull(): boolean {
    return this.#used >= this.limit
  }

  /** Takes some, if there is as much room; returns whether there was. */
  tryReserve(amount = 1): boolean {
    if (this.#used + amount > this.limit) {
      this.recordRefusal()
      return false
    }
    this.#used += amount
    return true
  }

  /** Counts what is there already, or, negative, is gone. */
  adjust(amount: number): void {
    this.#used += amount
  }

  /** Gives some back. */
  release(amount = 1): void {
    this.#used -= amount
  }

  /** Counts a refusal for want of room. */
  recordRefusal(): void {
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
    return this.waitMs(now)
  }

  /** How many packets may be taken before it is charged again: those there is room for, and the one that is too many. */
  packetAllowance(now: number): number {
    return this.waitMs(now) > 0 ? 0 : Math.floor(this.#packets.room(now)) + 1
  }

  /** Something was done that takes more than most; see `workPerSecond`. */
  worked(work: number): void {
    this.#work.charge(work, this.#now())
  }

  /** How long to read nothing, ms. */
  waitMs(now: number): number {
    return Math.max(this.#packets.wait(now), this.#bytes.wait(now), this.#work.wait(now))
  }

  /** A connection is made to wait. */
  recordPause(): void {
    this.#pauses++
  }

  /** Whether it has nothing, and nothing that it did counts any more. */
  isIdle(now: number): boolean {
    const counters = [this.connections, this.subscriptions, this.retained, this.retainedBytes, this.waitingBytes]
    const rates = [this.#packets, this.#bytes, this.#work]
    return counters.every(({ used }) => used === 0) && rates.every(rate => rate.rested(now))
  }
}

/**
 * Counts a connection. Raises {@link PacketError} when there are as many as there may be.
 *
 * @param isTakeover - one of them is about to end for this one
 * @param onRefused - called before it raises that
 */
export function admitConnection(account: QuotaAccount | undefined, isTakeover: boolean, onRefused: () => void): void {
  if (account === undefined) return
  const { connections } = account
  if (isTakeover) connections.adjust(1)
  else if (!connections.tryReserve()) {
    onRefused()
    throw new PacketError(REASON.quotaExceeded, `there are ${connections.limit} connections of the same principal`)
  }
}

/** With fewer accounts it is not looked for those that have nothing. */
const MIN_SWEEP_SIZE = 1_024

/** All who have to keep to quotas. */
export class QuotaAccounts {
  /** Of all together. */
  readonly subscriptions: BoundedCounter
  /** Of one packet. */
  readonly maxUserProperties: number
  readonly #total: QuotaAccount
  readonly #quotas: BrokerQuotas
  readonly #now: () => number
  readonly #hasTotalRateLimit: boolean
  readonly #principals = new Map<string, QuotaAccount>()
  readonly #addresses = new Map<string, QuotaAccount>()
  #sweepAt = MIN_SWEEP_SIZE

  /** @param now - monotonic, ms */
  constructor(quotas: BrokerQuotas, now: () => number) {
    this.#quotas = quotas
    this.#now = now
    this.maxUserProperties = quotas.userProperties
    this.#hasTotalRateLimit = isLimiting(quotas.total)
    this.subscriptions = new BoundedCounter(quotas.total.subscriptions)
    this.#total = new QuotaAccount('', UNLIMITED_COUNTS, quotas.total, now)
  }

  /** Those who have something, or had lately: principals, and addresses of those who have proved nothing. */
  get principals(): Iterable<QuotaAccount> {
    return this.#principals.values()
  }

  /**
   * Whose a client is that was let in: its principal's; or its address's, when it has proved nothing. `undefined` for one
   * that has proved nothing on this machine, which may do what it likes.
   */
  of(owner: { readonly id: string } | undefined, address: string | undefined): QuotaAccount | undefined {
    if (owner !== undefined && owner.id !== '') return this.#principalAccount(owner.id)
    return isForeign(address) ? this.#principalAccount(`at ${networkOf(address)}`) : undefined
  }

  /** Those by which a connection is slowed before it is known whose it is. */
  rateAccountsOf(address: string | undefined): QuotaAccount[] {
    const accounts = this.#hasTotalRateLimit ? [this.#total] : []
    if (isForeign(address)) accounts.push(this.#addressAccount(networkOf(address)))
    return accounts
  }

  #principalAccount(name: string): QuotaAccount {
    const { principal } = this.#quotas
    return this.#accountIn(this.#principals, name, principal, principal)
  }

  #addressAccount(name: string): QuotaAccount {
    return this.#accountIn(this.#addresses, name, UNLIMITED_COUNTS, this.#quotas.address)
  }

  #accountIn(
    accounts: Map<string, QuotaAccount>,
    name: string,
    quotas: AccountQuotas,
    rates: RateQuotas,
  ): QuotaAccount {
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
      for (const [name, account] of accounts) if (account.isIdle(now)) accounts.delete(name)
    this.#sweepAt = Math.max(MIN_SWEEP_SIZE, 2 * (this.#principals.size + this.#addresses.size))
  }
}

const isForeign = (address: string | undefined): address is string =>
  address !== undefined && address !== '' && !isThisMachine(address)
