import type { Connect, Will } from '../../../core/mqtt5/packets.js'
import type { PublishEncoder } from '../../../core/mqtt5/publish-encoder.js'
import type { Clock } from '../../../core/util/clock.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import type { Message } from '../routing/delivery.js'
import type { RetainedMessages } from '../routing/retained-messages.js'
import type { Router } from '../routing/router.js'
import type { BrokerHandler, SessionOwner } from './handler.js'
import type { Session } from './session.js'

export interface SessionAssignment {
  readonly session: Session
  /** Whether an existing session was resumed. */
  readonly isSessionPresent: boolean
}

export interface AuthenticatedClient {
  readonly owner: SessionOwner | undefined
  readonly address: string | undefined
}

/** Services of the broker that all connections share; `C` is the connection type. */
export interface ConnectionHost<C> {
  readonly handler: BrokerHandler
  readonly clock: Clock
  readonly budget: BrokerMemoryBudget
  readonly accounts: QuotaAccounts
  readonly encoder: PublishEncoder
  readonly router: Router
  readonly retained: RetainedMessages
  readonly timeouts: Timeouts<() => void>
  /** Of packets from clients, bytes. */
  readonly maximumPacketSize: number
  readonly maxKeepAliveSeconds: number
  /**
   * Disconnects an earlier connection with the client id. Raises `PacketError` for a foreign session or an exhausted
   * quota.
   */
  admit(connection: C, connect: Connect, clientId: string, client: AuthenticatedClient): SessionAssignment
  /** Ends what the current policy no longer permits. @param owner - replaces the session's owner */
  revalidateSession(session: Session, owner?: SessionOwner): void
  /** Removes a connection, authenticated or not. */
  removeConnection(connection: C): void
  /** @param will - to be published, if any */
  detach(connection: C, session: Session, will: Will | undefined): void
  /** Returns the number of receivers; `undefined` if a retained message exceeds a limit. */
  publish(message: Message, publisher: Session | undefined): number | undefined
}
