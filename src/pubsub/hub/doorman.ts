import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/util/clock.js'
import { isThisMachine } from '../../node/limits/network.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { Audit } from '../../node/net/audit.js'
import { callerOf } from '../../node/net/visitors.js'
import type { HandshakeRefusal } from './handshake.js'
import type { Identity } from './identity.js'

/** Keeps those from guessing who are refused again and again, and puts on record who came. */
export class Doorman {
  readonly audit: Audit
  /** Without one there is nothing to be guessed. */
  readonly #throttle: LoginThrottle | undefined
  readonly #proxied: boolean

  /**
   * @param proxied - whether a proxy on this machine may stand before us
   * @param guessable - whether somebody could come in by guessing
   */
  constructor(clock: Clock, proxied: boolean, guessable: boolean) {
    this.audit = new Audit(clock)
    this.#throttle = guessable ? new LoginThrottle(clock) : undefined
    this.#proxied = proxied
  }

  /** Where a request comes from. */
  addressOf({ socket, headers }: IncomingMessage): string {
    return callerOf(socket.remoteAddress ?? '', headers['x-forwarded-for'], this.#proxied)
  }

  /** Why nobody looks at a request at present: too many from its address were refused. */
  objection(request: IncomingMessage, hub: string): HandshakeRefusal | undefined {
    const pause = this.#throttle?.pause(this.addressOf(request)) ?? 0
    if (pause === 0) return undefined
    const refusal = { status: 429, text: `Too many were refused; wait ${Math.ceil(pause / 1_000)} s` } as const
    this.#tell(request, hub, undefined, refusal.text)
    return refusal
  }

  /** It was decided who somebody is, or that it may not come in. */
  decided(request: IncomingMessage, hub: string, decision: Identity | HandshakeRefusal): void {
    if ('status' in decision) {
      const address = this.addressOf(request)
      // A guesser on this machine must not keep out the others on it.
      if (decision.status === 401 && !isThisMachine(address)) this.#throttle?.failed(address)
      this.#tell(request, hub, undefined, decision.trouble ?? decision.text)
    } else this.#tell(request, hub, decision.userId, undefined)
  }

  #tell(request: IncomingMessage, target: string, username: string | undefined, reason: string | undefined): void {
    const outcome = reason === undefined ? 'accepted' : 'refused'
    const address = this.addressOf(request)
    this.audit.tell({ event: 'login', outcome, username, address, listener: 'hub', target, reason })
  }
}
