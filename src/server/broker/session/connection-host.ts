import type { Connect, Will } from '../../../core/mqtt5/packets.js'
import type { PublishEncoder } from '../../../core/mqtt5/publish-encoder.js'
import type { Clock } from '../../../core/util/clock.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import type { Traffic } from '../limits/traffic.js'
import type { Message } from '../routing/delivery.js'
import type { MessageTest } from '../routing/retained-messages.js'
import type { Router } from '../routing/router.js'
import type { BrokerHandler, SessionOwner } from './handler.js'
import type { Session } from './session.js'
import type { Wills } from './wills.js'

export interface SessionAssignment {
  readonly session: Session
  /** Whether an existing session was resumed. */
  readonly isSessionPresent: boolean
}

export interface AuthenticatedClient {
  readonly owner: SessionOwner | undefined
  readonly address: string | undefined
}

/** The services of the broker that all connections share. `C` is the connection type. */
export interface ConnectionHost<C> {
  readonly handler: BrokerHandler
  readonly clock: Clock
  readonly budget: MemoryBudget
  readonly accounts: QuotaAccounts
  readonly encoder: PublishEncoder
  readonly router: Router
  readonly traffic: Traffic
  readonly timeouts: Timeouts<() => void>
  readonly wills: Wills
  /** The largest packet that a client may send, in bytes. */
  readonly maximumPacketSize: number
  readonly maxKeepAliveSeconds: number
  /**
   * Admits a client, and disconnects an earlier connection with its client id. Throws `PacketError` if the session
   * belongs to another owner or a quota is exhausted.
   */
  admit(connection: C, connect: Connect, clientId: string, client: AuthenticatedClient): SessionAssignment
  /**
   * Ends the subscriptions and watches that the current policy no longer permits.
   *
   * @param owner - replaces the session's owner
   */
  revalidateSession(session: Session, owner: SessionOwner | undefined): void
  /** Removes a connection, authenticated or not. */
  removeConnection(connection: C): void
  /**
   * Detaches a session from its connection.
   *
   * @param will - to be published, if any
   */
  detach(connection: C, session: Session, will: Will | undefined): void
  /**
   * Publishes a message, and returns the number of receivers. Returns `undefined` if a retained message exceeds a
   * limit.
   */
  publish(message: Message, publisher: Session | undefined): number | undefined
  /**
   * Returns the retained messages that match a filter. Omits messages that are stored later, unless they are lost. Yields
   * `undefined` where the caller can pause.
   *
   * @param isLost - returns whether the subscriber did not receive a message when it was published
   */
  retainedMessages(filter: string, isLost: MessageTest): Iterator<Message | undefined>
}
