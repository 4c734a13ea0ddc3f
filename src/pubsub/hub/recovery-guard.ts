import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isThisMachine, networkOf } from '../../node/limits/network.js'
import { Rates } from '../../node/limits/rates.js'
import type { Doorman } from './doorman.js'
import type { HandshakeRefusal } from './handshake.js'

/** Claims that fail, of one address in a second: after a restart of the hub all its clients have one that does. */
const MAX_FAILED_PER_SECOND = 100

/** A session as it was before it was recovered. */
export interface RecoveredSession {
  readonly userId: string | undefined
  /** From which its client connected last. */
  readonly address: string | undefined
  readonly isAttached: boolean
}

/**
 * Puts on record which sessions are recovered, and limits claims that fail: their token cannot be guessed, but each costs a
 * handshake. Right claims are not limited, so that nobody can hold them up.
 */
export class RecoveryGuard {
  readonly #clock: Clock
  readonly #doorman: Doorman
  readonly #failed: Rates

  constructor(clock: Clock, doorman: Doorman) {
    this.#clock = clock
    this.#doorman = doorman
    this.#failed = new Rates(MAX_FAILED_PER_SECOND, () => clock.monotonic())
  }

  /** A client goes on with a session: its own, or one whose token it has found. */
  recovered(request: IncomingMessage, hub: string, { userId, address, isAttached }: RecoveredSession): void {
    const place = address === this.#doorman.addressOf(request) ? '' : ` from another address than ${address}`
    this.#tell(request, hub, 'accepted', `recovery${place}${isAttached ? ' while it was connected' : ''}`, userId)
  }

  /**
   * A client claims a session that it cannot have.
   *
   * @param isThere - whether there is one with this id
   * @returns the refusal if there are too many; otherwise the client is let in, since only a close code is final for it
   */
  failed(request: IncomingMessage, hub: string, isThere: boolean): HandshakeRefusal | undefined {
    const reason = isThere ? 'recovery with a wrong token' : 'recovery of a session that is not there'
    this.#tell(request, hub, 'refused', reason)
    const address = this.#doorman.addressOf(request)
    if (isThisMachine(address)) return undefined
    const now = this.#clock.monotonic()
    const rate = this.#failed.of(networkOf(address))
    const wait = rate.wait(now)
    if (wait > 0) return { status: 429, text: `Too many recoveries failed; wait ${Math.ceil(wait / 1_000)} s` }
    rate.charge(1, now)
    return undefined
  }

  #tell(request: IncomingMessage, target: string, outcome: 'accepted' | 'refused', reason: string, username?: string) {
    const address = this.#doorman.addressOf(request)
    this.#doorman.audit.tell({ event: 'login', outcome, username, address, listener: 'hub', target, reason })
  }
}
