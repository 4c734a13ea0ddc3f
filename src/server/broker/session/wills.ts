import { PacketError } from '../../../core/mqtt5/packet-error.js'
import type { Connect, Will } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { Clock } from '../../../core/util/clock.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { UsageByOwner } from '../limits/usage-by-owner.js'
import { copyContentIfSparse, type Message, sizeOf } from '../routing/delivery.js'
import type { BrokerHandler } from './handler.js'
import type { Session } from './session.js'

export interface WillsHost {
  readonly handler: Pick<BrokerHandler, 'topic' | 'checkPublish' | 'handlePublish'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly budget: MemoryBudget
  readonly timeouts: Timeouts<() => void>
  publish(message: Message, publisher: Session): void
  /** Runs a task when every subscriber has received the current message. */
  defer(task: () => void): void
}

/** A will to publish unless its client reconnects before the deadline (MQTT 5.0, section 3.1.3.2.2). */
interface DelayedWill {
  readonly client: Client
  readonly will: Will
  readonly deadline: Deadline<() => void>
}

const NO_PROPERTIES = {}
/** The share of the memory budget that delayed wills may take, so that offline clients cannot block new connections. */
const DELAYED_BUDGET_SHARE = 1 / 8

/**
 * The wills of all clients. A will is charged to the memory budget from {@link Wills.reserve}, until it is published or
 * cancelled.
 */
export class Wills {
  readonly #host: WillsHost
  readonly #delayed = new Map<Session, DelayedWill>()
  readonly #delayedBytes = new UsageByOwner<Session>()
  readonly #maxDelayedBytes: number
  #isClosed = false

  constructor(host: WillsHost, memoryBudget: number) {
    this.#host = host
    this.#maxDelayedBytes = memoryBudget * DELAYED_BUDGET_SHARE
  }

  get delayedCount(): number {
    return this.#delayed.size
  }

  /** The session to end because delayed wills take too much memory: the oldest one of the owner with most bytes. */
  get excessive(): Session | undefined {
    const isExceeded = this.#delayedBytes.total > this.#maxDelayedBytes
    return isExceeded ? this.#delayedBytes.oldestOfLargestOwner() : undefined
  }

  /**
   * Reserves memory for a will. Throws {@link PacketError} if the client must not publish the will or memory is
   * exhausted.
   */
  reserve({ will }: Connect, client: Client): Will | undefined {
    if (will === undefined) return undefined
    const { handler, budget } = this.#host
    const rejection = handler.checkPublish(client, will)
    if (rejection)
      throw new PacketError(rejection.disconnect ?? REASON.notAuthorized, `the will is rejected: ${rejection.reason}`)
    if (!budget.tryReserve(willSize(will)))
      throw new PacketError(REASON.quotaExceeded, 'the broker has no memory left for the will')
    const { payload, correlationData, carried } = copyContentIfSparse({ ...will, userProperties: NO_PROPERTIES })
    return { ...will, payload, correlationData, carried: carried ?? will.carried }
  }

  /** Publishes the will of a client that disconnected, or delays it as long as the client's session may last. */
  publishOrDelay(client: Client, session: Session, will: Will): void {
    const delayMs = session.isPersistent ? 1000 * Math.min(will.delay, session.expirySeconds) : 0
    if (delayMs > 0) this.#delay(client, session, will, delayMs)
    else this.#publish(client, session, will)
  }

  /** Publishes the delayed will of a session, if any. */
  publishDelayed(session: Session): void {
    const delayed = this.#removeDelayed(session)
    if (delayed) this.#publish(delayed.client, session, delayed.will)
  }

  /** Cancels the will of a connection. */
  cancel(will: Will): void {
    this.#host.budget.release(willSize(will))
  }

  /** Cancels the delayed will of a session whose client reconnected, if any. */
  cancelDelayed(session: Session): void {
    const delayed = this.#removeDelayed(session)
    if (delayed) this.cancel(delayed.will)
  }

  /** Discards all later wills, because no subscriber remains to receive them. */
  close(): void {
    this.#isClosed = true
  }

  #delay(client: Client, session: Session, will: Will, delayMs: number): void {
    const { clock, timeouts } = this.#host
    const deadline = timeouts.add(clock.monotonic() + delayMs, () => this.publishDelayed(session))
    this.#delayed.set(session, { client, will, deadline })
    this.#delayedBytes.add(session, willSize(will))
  }

  #removeDelayed(session: Session): DelayedWill | undefined {
    const delayed = this.#delayed.get(session)
    if (delayed === undefined) return undefined
    this.#delayed.delete(session)
    this.#delayedBytes.delete(session)
    this.#host.timeouts.remove(delayed.deadline)
    return delayed
  }

  #publish(client: Client, session: Session, will: Will): void {
    this.#host.budget.release(willSize(will))
    // Routing a message may disconnect a slow receiver, whose will is then due. The will is deferred, so that every
    // subscriber receives the message before the will.
    this.#host.defer(() => this.#publishNow(client, session, will))
  }

  #publishNow(client: Client, session: Session, will: Will): void {
    const { handler, clock } = this.#host
    // The policy may have changed since the client connected.
    if (this.#isClosed || handler.checkPublish(client, will)) return
    if (will.topic === handler.topic) {
      handler.handlePublish(client, will)
      return
    }
    const { topic, payload, carried, qos, retain, messageExpiry } = will
    const expiresAt = messageExpiry === undefined ? undefined : clock.monotonic() + 1000 * messageExpiry
    const content = copyContentIfSparse({ payload, carried, userProperties: NO_PROPERTIES })
    this.#host.publish({ topic, content, qos, retain, expiresAt }, session)
  }
}

/** Returns the bytes that a will takes. Its user properties are kept both encoded and as strings. */
export const willSize = ({ topic, payload, carried }: Will): number =>
  sizeOf({ topic, content: { payload, carried } }) + 2 * carried.length
