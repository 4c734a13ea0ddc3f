import { PacketError } from '../../../core/mqtt5/packet-error.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import { Rate } from '../../../node/limits/rate.js'
import type { AccountQuotas, RateQuotas } from './quotas.js'
import { Tally } from './tally.js'

/**
 * What one has who has to keep to quotas: a principal with all its connections, or an address with all those that have
 * proved nothing.
 */
export class Account {
  readonly name: string
  readonly connections: Tally
  readonly subscriptions: Tally
  readonly retained: Tally
  readonly retainedBytes: Tally
  /** What waits for sessions whose client is away, bytes. */
  readonly waitingBytes: Tally
  readonly #now: () => number
  readonly #packets: Rate
  readonly #bytes: Rate
  readonly #work: Rate
  #pauses = 0

  /** @param now - monotonic, ms */
  constructor(name: string, quotas: AccountQuotas, rates: RateQuotas, now: () => number) {
    this.name = name
    this.#now = now
    this.connections = new Tally(quotas.connections)
    this.subscriptions = new Tally(quotas.subscriptions)
    this.retained = new Tally(quotas.retained)
    this.retainedBytes = new Tally(quotas.retainedBytes)
    this.waitingBytes = new Tally(quotas.waitingBytes)
    this.#packets = new Rate(rates.packetsPerSecond)
    this.#bytes = new Rate(rates.bytesPerSecond)
    this.#work = new Rate(rates.workPerSecond)
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
export function enter(account: Account | undefined, replacing: boolean, refused: () => void): void {
  if (account === undefined) return
  const { connections } = account
  if (replacing) connections.count(1)
  else if (!connections.take()) {
    refused()
    throw new PacketError(REASON.quotaExceeded, `there are ${connections.most} connections of the same principal`)
  }
}
