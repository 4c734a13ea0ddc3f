import { MAX_USER_PROPERTIES } from '../../../core/mqtt5/data-types.js'
import { PacketError } from '../../../core/mqtt5/packet-error.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { isThisMachine, networkOf } from '../../../node/limits/network.js'
import { RateLimiter } from '../../../node/limits/rate.js'
import { SweptMap } from '../../../node/limits/swept-map.js'

/** The quotas of one account. `Infinity` means unlimited. */
export interface AccountQuotas {
  readonly connections: number
  readonly subscriptions: number
  readonly retained: number
  readonly retainedBytes: number
  /** The bytes queued for offline sessions. */
  readonly waitingBytes: number
}

/**
 * The maximum rates of one account or of all clients. The broker slows down reading from a faster client. `Infinity`
 * means unlimited.
 */
export interface RateQuotas {
  /** The number of packets, except acknowledgements of the broker's messages. */
  readonly packetsPerSecond: number
  readonly bytesPerSecond: number
  /** The cost of scans: compared key bytes times the glob's 32-state words. */
  readonly workPerSecond: number
}

/** The quotas of all clients together, in addition to the shared memory budget. */
interface TotalQuotas extends RateQuotas {
  readonly subscriptions: number
  readonly retained: number
  readonly retainedBytes: number
}

export interface BrokerQuotas {
  /** A principal's quotas. All anonymous clients of one address share one such set. */
  readonly principal: AccountQuotas & RateQuotas
  /** An address's rates, for all of its connections. Loopback is exempt, because proxies connect from there. */
  readonly address: RateQuotas
  readonly total: TotalQuotas
  /** The maximum number of user properties in one packet. */
  readonly userProperties: number
}

const UNLIMITED = Number.POSITIVE_INFINITY
const UNLIMITED_RATES: RateQuotas = { packetsPerSecond: UNLIMITED, bytesPerSecond: UNLIMITED, workPerSecond: UNLIMITED }

const UNLIMITED_COUNTS: AccountQuotas = {
  connections: UNLIMITED,
  subscriptions: UNLIMITED,
  retained: UNLIMITED,
  retainedBytes: UNLIMITED,
  waitingBytes: UNLIMITED,
}

export const NO_QUOTAS: BrokerQuotas = {
  principal: { ...UNLIMITED_COUNTS, ...UNLIMITED_RATES },
  address: UNLIMITED_RATES,
  total: { ...UNLIMITED_COUNTS, ...UNLIMITED_RATES },
  userProperties: MAX_USER_PROPERTIES,
}

const isLimiting = ({ packetsPerSecond, bytesPerSecond, workPerSecond }: RateQuotas): boolean =>
  Math.min(packetsPerSecond, bytesPerSecond, workPerSecond) < UNLIMITED

/**
 * A counter with a limit.
 *
 * @example
 * ```ts
 * if (!subscriptions.tryReserve()) reject()
 * ```
 */
export class BoundedCounter {
  readonly limit: number
  #used = 0
  #refused = 0

  /** @param limit - `Infinity` means unlimited */
  constructor(limit: number) {
    this.limit = limit
  }

  get used(): number {
    return this.#used
  }

  get refused(): number {
    return this.#refused
  }

  get isFull(): boolean {
    return this.#used >= this.limit
  }

  /** Reserves an amount unless it would exceed the limit. Returns whether the amount is reserved. */
  tryReserve(amount = 1): boolean {
    if (this.#used + amount > this.limit) {
      this.recordRefusal()
      return false
    }
    this.#used += amount
    return true
  }

  /** Counts an amount that is already in use. A negative amount is released. */
  adjust(amount: number): void {
    this.#used += amount
  }

  release(amount = 1): void {
    this.#used -= amount
  }

  recordRefusal(): void {
    this.#refused++
  }
}

/** The usage of a principal with all its connections, or of an address with its anonymous clients. */
export class QuotaAccount {
  readonly name: string
  readonly connections: BoundedCounter
  readonly subscriptions: BoundedCounter
  readonly retained: BoundedCounter
  readonly retainedBytes: BoundedCounter
  readonly waitingBytes: BoundedCounter
  readonly #now: () => number
  readonly #packets: RateLimiter
  readonly #bytes: RateLimiter
  readonly #work: RateLimiter
  #pauses = 0

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

  get pauses(): number {
    return this.#pauses
  }

  /**
   * Charges received packets and bytes at the monotonic time `now` in ms. Returns the number of ms for which to pause
   * reading.
   */
  charge(packets: number, bytes: number, now: number): number {
    this.#packets.charge(packets, now)
    this.#bytes.charge(bytes, now)
    return this.waitMs(now)
  }

  /**
   * Returns the number of packets that may be processed before the next {@link charge}. One of them may exceed the
   * rate.
   */
  packetAllowance(now: number): number {
    return this.waitMs(now) > 0 ? 0 : Math.floor(this.#packets.available(now)) + 1
  }

  chargeWork(work: number): void {
    this.#work.charge(work, this.#now())
  }

  waitMs(now: number): number {
    return Math.max(this.#packets.wait(now), this.#bytes.wait(now), this.#work.wait(now))
  }

  recordPause(): void {
    this.#pauses++
  }

  /** Returns whether no quota is in use and past activity no longer affects the rates. */
  isIdle(now: number): boolean {
    const counters = [this.connections, this.subscriptions, this.retained, this.retainedBytes, this.waitingBytes]
    const rates = [this.#packets, this.#bytes, this.#work]
    return counters.every(({ used }) => used === 0) && rates.every(rate => rate.isIdle(now))
  }
}

/**
 * Counts a new connection. Throws {@link PacketError} if the connection quota is used up.
 *
 * @param isTakeover - whether the connection replaces another connection of the same account
 * @param onRefused - called before the error is thrown
 */
export function admitConnection(account: QuotaAccount | undefined, isTakeover: boolean, onRefused: () => void): void {
  if (account === undefined) return
  const { connections } = account
  if (isTakeover) connections.adjust(1)
  else if (!connections.tryReserve()) {
    onRefused()
    throw new PacketError(
      REASON.quotaExceeded,
      `connection limit reached: the principal already has ${connections.limit} connections`,
    )
  }
}

export class QuotaAccounts {
  readonly subscriptions: BoundedCounter
  readonly maxUserProperties: number
  readonly #total: QuotaAccount
  readonly #quotas: BrokerQuotas
  readonly #now: () => number
  readonly #hasTotalRateLimit: boolean
  readonly #principals = new SweptMap<QuotaAccount>(isIdle)
  readonly #addresses = new SweptMap<QuotaAccount>(isIdle)

  constructor(quotas: BrokerQuotas, now: () => number) {
    this.#quotas = quotas
    this.#now = now
    this.maxUserProperties = quotas.userProperties
    this.#hasTotalRateLimit = isLimiting(quotas.total)
    this.subscriptions = new BoundedCounter(quotas.total.subscriptions)
    this.#total = new QuotaAccount('', UNLIMITED_COUNTS, quotas.total, now)
  }

  /**
   * Returns the accounts that use a quota or were active recently, which are principals, and addresses with anonymous
   * clients.
   */
  get principals(): Iterable<QuotaAccount> {
    return this.#principals.values()
  }

  /**
   * Returns the principal's account, or the address's account for an anonymous client. Returns `undefined`
   * for a local anonymous client.
   */
  of(owner: { readonly id: string } | undefined, address: string | undefined): QuotaAccount | undefined {
    if (owner !== undefined && owner.id !== '') return this.#principalAccount(owner.id)
    return isForeign(address) ? this.#principalAccount(`at ${networkOf(address)}`) : undefined
  }

  /** Returns the accounts that limit a connection's rate even before authentication. */
  rateAccountsOf(address: string | undefined): QuotaAccount[] {
    const accounts = this.#hasTotalRateLimit ? [this.#total] : []
    if (isForeign(address)) accounts.push(this.#addressAccount(networkOf(address)))
    return accounts
  }

  #principalAccount(name: string): QuotaAccount {
    const { principal } = this.#quotas
    return this.#principals.getOrAdd(name, this.#now(), () => new QuotaAccount(name, principal, principal, this.#now))
  }

  #addressAccount(name: string): QuotaAccount {
    const { address } = this.#quotas
    const create = (): QuotaAccount => new QuotaAccount(name, UNLIMITED_COUNTS, address, this.#now)
    return this.#addresses.getOrAdd(name, this.#now(), create)
  }
}

const isIdle = (account: QuotaAccount, now: number): boolean => account.isIdle(now)

const isForeign = (address: string | undefined): address is string =>
  address !== undefined && address !== '' && !isThisMachine(address)
