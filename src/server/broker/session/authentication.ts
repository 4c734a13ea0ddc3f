import { protocolError } from '../../../core/mqtt5/packet-error.js'
import type { Auth, Connect } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { BrokerHandler, Verdict } from './handler.js'
import type { Link } from './link.js'

const NO_METHOD = {
  type: 'refused',
  reasonCode: REASON.badAuthenticationMethod,
  reason: 'there is no such authentication method',
} as const

/**
 * The steps in which one client proves who it is: one with CONNECT, more with AUTH (MQTT 5.0, section 4.12), and again
 * whenever it likes. One step is under way at a time.
 */
export class Authentication {
  readonly #handler: BrokerHandler
  readonly #client: Client
  readonly #link: Link
  readonly #connect: Connect
  #state: unknown
  #asked = false
  #deciding = false
  /** While a verdict is awaited. */
  #gone: AbortController | undefined

  constructor(handler: BrokerHandler, client: Client, link: Link, connect: Connect) {
    this.#handler = handler
    this.#client = client
    this.#link = link
    this.#connect = connect
  }

  /** Whether a verdict is awaited. */
  get deciding(): boolean {
    return this.#deciding
  }

  /** The client is gone. */
  close(): void {
    this.#gone?.abort()
  }

  /** The first step. `decided` may be called at once. */
  begin(decided: (verdict: Verdict) => void, failed: (error: unknown) => void): void {
    const { authenticationMethod, authenticationData } = this.#connect
    if (this.#handler.authenticate !== undefined) this.#ask(authenticationData, decided, failed)
    else decided(authenticationMethod === undefined ? { type: 'accepted' } : NO_METHOD)
  }

  /** A further step, or the first of another proof. Raises `PacketError` when the client may not take it. */
  proceed(auth: Auth, decided: (verdict: Verdict) => void, failed: (error: unknown) => void): void {
    const again = auth.reasonCode === REASON.reAuthenticate
    if (this.#connect.authenticationMethod === undefined) throw protocolError('AUTH without an authentication method')
    if (auth.authenticationMethod !== this.#connect.authenticationMethod)
      throw protocolError('AUTH with another authentication method than CONNECT')
    if (this.#deciding || again === this.#asked) throw protocolError('AUTH that was not asked for')
    this.#ask(auth.authenticationData, decided, failed)
  }

  #ask(data: Uint8Array | undefined, decided: (verdict: Verdict) => void, failed: (error: unknown) => void): void {
    const gone = new AbortController()
    const credentials = { connect: this.#connect, link: this.#link, data, state: this.#state, signal: gone.signal }
    const verdict = this.#handler.authenticate?.(this.#client, credentials)
    if (verdict === undefined) return
    if (!(verdict instanceof Promise)) {
      this.#take(verdict, decided)
      return
    }
    this.#deciding = true
    this.#gone = gone
    verdict.then(late => this.#take(late, decided)).catch(failed)
  }

  #take(verdict: Verdict, decided: (verdict: Verdict) => void): void {
    this.#deciding = false
    this.#gone = undefined
    this.#asked = verdict.type === 'continue'
    this.#state = verdict.type === 'continue' ? verdict.state : undefined
    decided(verdict)
  }
}
