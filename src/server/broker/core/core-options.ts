import type { Clock } from '../../../core/util/clock.js'
import type { BrokerQuotas } from '../limits/quotas.js'

/** Bounds that are of the operator's choice. */
export interface CoreOptions {
  /** Largest packet a client may send, bytes. */
  readonly maximumPacketSize: number
  /** Longest keep-alive, s; 0 for any. */
  readonly maximumKeepAlive: number
  /** What all clients together may have waiting, retained and incomplete, bytes. */
  readonly memoryBudget: number
  /** Default none; what is retained has the bounds of `LIMIT` then. */
  readonly quotas?: BrokerQuotas | undefined
  readonly clock: Clock
}
