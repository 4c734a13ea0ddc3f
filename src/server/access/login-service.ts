import type { Clock } from '../../core/util/clock.js'
import type { Deadline } from '../../core/util/deadlines.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { Timeouts } from '../../core/util/timeouts.js'
import { networkOf } from '../../node/limits/network.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { type Authenticate, checkPrincipal, type LoginRequest, type LoginResult, type Principal } from './login.js'

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
export class LoginService {
  readonly #authenticate: Authenticate
  readonly #throttle: LoginThrottle
  readonly #turns: LoginScheduler
  /** Of certificates and tokens: each check costs as much whether it succeeds or not. */
  readonly #checks: LoginScheduler

  constructor(authenticate: Authenticate, clock: Clock) {
    this.#authenticate = authenticate
    this.#throttle = new LoginThrottle(clock)
    this.#turns = new LoginScheduler(clock)
    this.#checks = new LoginScheduler(clock, MAX_CHECKS_AT_ONCE)
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
    `Expected \`authenticate\` to return an object with \`principal\`, \`refused\` or \`challenge\`, got \`${formatValue(result)}\``,
  )
}

/** Logins of one address that are under way at once; with more, guesses would be made before any of them has failed. */
const MOST_AT_ONCE = 16
/** One that takes longer no longer keeps others waiting, ms; it goes on for as long as its connection has. */
const LONGEST_TURN = 1_000
/** Who has waited longer is refused, ms: of the ten seconds that a connection has, some are for the login itself. */
const LONGEST_WAIT = 5_000
/** Who wait at one address, and at all of them. */
const MOST_WAITING = 1_000
const MOST_WAITING_IN_ALL = 10_000

/** Why a login got no turn: `rate`, there are too many of its address; `busy`, of all; `gone`, nobody wants it any more. */
export type NoTurn = 'rate' | 'busy' | 'gone'

interface YamlNode extends Waiter {
  readonly settle: (refused: NoTurn | undefined) => void
  deadline: Deadline<() => void> | undefined
}

interface Address {
  readonly network: string
  readonly line: LoginQueue<YamlNode>
  busy: number
}

/**
 * Lets the logins of one address wait for each other, those of different addresses not. Nobody waits without an end, and
 * not more than there is room for.
 *
 * @example
 * ```ts
 * const outcome = await turns.run('192.0.2.1', 'panel', async () => login())
 * if (outcome === 'rate' || outcome === 'busy') refuse(outcome)
 * ```
 */
export class LoginScheduler {
  readonly #clock: Clock
  readonly #timeouts: Timeouts<() => void>
  readonly #addresses = new Map<string, Address>()
  readonly #maxAtOnce: number
  #waiting = 0

  /** @param maxAtOnce - logins of one address that are under way at once */
  constructor(clock: Clock, maxAtOnce = MOST_AT_ONCE) {
    this.#maxAtOnce = maxAtOnce
    this.#clock = clock
    this.#timeouts = new Timeouts(clock, due => due())
  }

  /**
   * Does a task when it is its turn; or says at once, or later, why it gets none.
   *
   * @param name - of the user
   * @param signal - aborted when nobody wants it any more
   */
  async run<T extends object>(
    address: string,
    name: string,
    task: () => Promise<T>,
    signal?: AbortSignal | undefined,
  ): Promise<T | NoTurn> {
    const network = networkOf(address)
    const known = this.#addresses.get(network) ?? { network, line: new LoginQueue(), busy: 0 }
    this.#addresses.set(network, known)
    if (known.busy < this.#maxAtOnce) known.busy++
    else {
      const refused = await this.#turn(known, name, signal)
      if (refused !== undefined) return refused
    }
    let left = false
    const leave = (): void => {
      if (left) return
      left = true
      this.#leave(known)
    }
    const deadline = this.#in(LONGEST_TURN, leave)
    try {
      return await task()
    } finally {
      this.#timeouts.remove(deadline)
      leave()
    }
  }

  #turn({ line }: Address, name: string, signal: AbortSignal | undefined): Promise<NoTurn | undefined> {
    if (line.size >= MOST_WAITING) {
      const yielding = line.yielding(name)
      if (yielding === undefined) return Promise.resolve('rate')
      this.#dismiss(line, yielding, 'rate')
    }
    if (this.#waiting >= MOST_WAITING_IN_ALL) return Promise.resolve('busy')
    return new Promise(resolve => {
      const leave = (): void => this.#dismiss(line, place, 'gone')
      const settle = (refused: NoTurn | undefined): void => {
        signal?.removeEventListener('abort', leave)
        resolve(refused)
      }
      const place: YamlNode = { name, settle, deadline: undefined }
      place.deadline = this.#in(LONGEST_WAIT, () => this.#dismiss(line, place, 'rate'))
      signal?.addEventListener('abort', leave)
      line.add(place)
      this.#waiting++
    })
  }

  #dismiss(line: LoginQueue<YamlNode>, place: YamlNode, refused: NoTurn): void {
    line.delete(place)
    this.#end(place, refused)
  }

  #leave(address: Address): void {
    const next = address.line.next()
    if (next !== undefined) this.#end(next, undefined)
    else if (--address.busy === 0) this.#addresses.delete(address.network)
  }

  #end(place: YamlNode, refused: NoTurn | undefined): void {
    this.#waiting--
    if (place.deadline) this.#timeouts.remove(place.deadline)
    place.settle(refused)
  }

  #in(ms: number, due: () => void): Deadline<() => void> {
    return this.#timeouts.add(this.#clock.monotonic() + ms, due)
  }
}

/** Who waits for a turn to log in. */
export interface Waiter {
  /** Under which it wants to come in; those of one name share a place in the order. */
  readonly name: string
}

/**
 * Those who wait at one address, by name: names take turns, so that many logins under one name, however long they take, keep
 * those under another waiting for one of them and no more.
 *
 * @example
 * ```ts
 * line.add({ name: 'panel' })
 * line.next()?.name // the name whose turn it is, of those who wait the one that came first
 * ```
 */
export class LoginQueue<T extends Waiter> {
  /** The name whose turn it is first. */
  readonly #names = new Map<string, Set<T>>()
  #size = 0

  /** How many wait. */
  get size(): number {
    return this.#size
  }

  add(waiter: T): void {
    const waiters = this.#names.get(waiter.name) ?? new Set()
    this.#names.set(waiter.name, waiters.add(waiter))
    this.#size++
  }

  /** Harmless for one that does not wait any more. */
  delete(waiter: T): void {
    const waiters = this.#names.get(waiter.name)
    if (!waiters?.delete(waiter)) return
    if (waiters.size === 0) this.#names.delete(waiter.name)
    this.#size--
  }

  /** Takes out the one whose turn it is; its name comes last then. */
  next(): T | undefined {
    for (const [name, waiters] of this.#names) {
      const [first] = waiters
      if (first === undefined) continue
      this.delete(first)
      if (this.#names.delete(name)) this.#names.set(name, waiters)
      return first
    }
    return undefined
  }

  /** The one that is to give way to another with this name: of a name under which at least two more wait. */
  yielding(name: string): T | undefined {
    const own = this.#names.get(name)?.size ?? 0
    let most: ReadonlySet<T> | undefined
    for (const waiters of this.#names.values()) if (waiters.size > (most?.size ?? own + 1)) most = waiters
    const [first] = most ?? []
    return first
  }
}
