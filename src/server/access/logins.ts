import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, shown } from '../../core/util/errors.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import type { Authenticate, LoginRequest, LoginResult } from './login.js'
import { LoginTurns, type NoTurn } from './login-turns.js'
import { checkPrincipal, type Principal } from './principal.js'

/** What came of a login: what was thrown is the broker's trouble, and lets no client in. */
export type LoginOutcome = LoginResult | { readonly thrown: unknown }

type Refused = Extract<LoginResult, { refused: unknown }>

const NO_TURN: Readonly<Record<NoTurn, Refused>> = {
  rate: { refused: 'rate', reason: 'too many log in at once from this address; try again later' },
  busy: { refused: 'busy', reason: 'too many log in at once; try again later' },
  gone: { refused: 'unavailable', reason: 'the client went before its turn came' },
}

/** Checks of certificates and tokens of one address that are under way at once. */
const MAX_CHECKS_AT_ONCE = 4

/** Has logins looked at, each in its turn, and no guess from where too many have failed. */
export class Logins {
  readonly #authenticate: Authenticate
  readonly #throttle: LoginThrottle
  readonly #turns: LoginTurns
  /** Of certificates and tokens: each check costs as much whether it succeeds or not. */
  readonly #checks: LoginTurns

  constructor(authenticate: Authenticate, clock: Clock) {
    this.#authenticate = authenticate
    this.#throttle = new LoginThrottle(clock)
    this.#turns = new LoginTurns(clock)
    this.#checks = new LoginTurns(clock, MAX_CHECKS_AT_ONCE)
  }

  /** From where logins failed. */
  get failed(): Pick<LoginThrottle, 'failures' | 'pause'> {
    return this.#throttle
  }

  /** Why a login is not looked at now; one that has to wait all the same must not keep others waiting. */
  objection(request: LoginRequest): Refused | undefined {
    if (this.#isVerifiable(request)) return undefined
    const { remoteAddress = '', username } = request
    const pause = this.#throttle.pause(remoteAddress, username)
    if (pause === 0) return undefined
    return { refused: 'rate', reason: `too many logins failed; wait ${Math.ceil(pause / 1_000)} s` }
  }

  /** Looks at a login when its turn comes. What need not be kept from guessing waits for its turn alone, and for no pause. */
  async ask(request: LoginRequest): Promise<LoginOutcome> {
    const { remoteAddress = '', username = request.clientId, signal } = request
    if (this.#isVerifiable(request)) {
      const outcome = await this.#checks.run(remoteAddress, username, () => this.#outcomeOf(request), signal)
      return typeof outcome === 'string' ? NO_TURN[outcome] : outcome
    }
    const look = async (): Promise<LoginOutcome> => {
      // Others may have failed meanwhile.
      const outcome = this.objection(request) ?? (await this.#outcomeOf(request))
      // Somebody else may have failed meanwhile, and that counts as well.
      if ('refused' in outcome && outcome.refused === 'credentials')
        this.#throttle.failed(remoteAddress, request.username)
      return outcome
    }
    const outcome = await this.#turns.run(remoteAddress, username, look, signal)
    return typeof outcome === 'string' ? NO_TURN[outcome] : outcome
  }

  /**
   * Somebody has come in. The name it gave counts if it is its own: who shows a certificate or token may give any, and would
   * have guesses of its own at each.
   */
  succeeded({ remoteAddress = '', username }: LoginRequest, principal: Principal): void {
    if (username !== undefined && username === principal.username) this.#throttle.succeeded(remoteAddress, username)
  }

  #isVerifiable(request: LoginRequest): boolean {
    return this.#authenticate.proofOf?.(request) === 'verifiable'
  }

  async #outcomeOf(request: LoginRequest): Promise<LoginOutcome> {
    try {
      const result = await this.#authenticate(request)
      checkResult(result)
      if ('principal' in result) checkPrincipal(result.principal)
      return result
    } catch (thrown) {
      return { thrown }
    }
  }
}

/** Throws {@link ArgumentError} for what is no result at all, as of a function that has forgotten to return one. */
function checkResult(result: unknown): asserts result is LoginResult {
  if (typeof result === 'object' && result !== null) return
  throw new ArgumentError(
    `Expected \`authenticate\` to return an object with \`principal\`, \`refused\` or \`challenge\`, got \`${shown(result)}\``,
  )
}
