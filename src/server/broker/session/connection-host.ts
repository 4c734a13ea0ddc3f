import type { Connect, Will } from '../../../core/mqtt5/packets.js'
import type { PublishEncoder } from '../../../core/mqtt5/publish-encoder.js'
import type { Clock } from '../../../core/util/clock.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import type { Message } from '../routing/delivery.js'
import type { RetainedMessages } from '../routing/retained.js'
import type { Router } from '../routing/router.js'
import type { BrokerHandler, SessionOwner } from './handler.js'
import type { Session } from './session.js'

/** The session of a client that was let in. */
export interface SessionAssignment {
  readonly session: Session
  /** Whether it was there before. */
  readonly isSessionPresent: boolean
}

/** Somebody who is let in. */
export interface AuthenticatedClient {
  readonly owner: SessionOwner | undefined
  readonly address: string | undefined
}

/** What all connections of a broker share; `C` is a connection. */
export interface ConnectionHost<C> {
  readonly handler: BrokerHandler
  readonly clock: Clock
  readonly budget: BrokerMemoryBudget
  readonly accounts: QuotaAccounts
  readonly encoder: PublishEncoder
  readonly router: Router
  readonly retained: RetainedMessages
  /** Runs tasks at times of the monotonic clock, ms. */
  readonly timeouts: Timeouts<() => void>
  /** Largest packet a client may send, bytes. */
  readonly maximumPacketSize: number
  /** Longest keep-alive of a client, s. */
  readonly maxKeepAliveSeconds: number
  /**
   * Lets a client in: it is the only one with its id from now on. Returns its session, and whether that was there before.
   * Raises `PacketError` when the session is somebody else's, or its principal has too many.
   */
  admit(connection: C, connect: Connect, clientId: string, client: AuthenticatedClient): SessionAssignment
  /** The holder of a session may have other rights than before: what it may not have any more ends. */
  revalidateSession(session: Session, owner?: SessionOwner): void
  /** A connection is over, whether its client was let in or not. */
  removeConnection(connection: C): void
  /** Of a client that was let in: a connection is gone; its last will is to be published, if there is one. */
  detach(connection: C, session: Session, will: Will | undefined): void
  /** Publishes a message; returns to how many it went, `undefined` when it is to be retained and there is no room. */
  publish(message: Message, publisher: Session | undefined): number | undefined
}
