import { MOST_USER_PROPERTIES } from '../../../core/mqtt5/data-types.js'

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
export interface TotalQuotas extends RateQuotas {
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
export const ANY_NUMBER: AccountQuotas = {
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
export const slows = ({ packetsPerSecond, bytesPerSecond, workPerSecond }: RateQuotas): boolean =>
  Math.min(packetsPerSecond, bytesPerSecond, workPerSecond) < ANY
