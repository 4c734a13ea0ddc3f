import type { Clock } from '../../core/util/clock.js'
import type { Deadline } from '../../core/util/deadlines.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { Timeouts } from '../../core/util/timeouts.js'
import { networkOf } from '../../node/limits/network.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { type Authenticate, checkPrincipal, type LoginRequest, type LoginResult, type Principal } from './login.js'

/** What came of a login: what was thrown is the broker's trouble, and lets no client in. */
export type LoginOutcome = LoginResult | { readonly thrown: unknown }

type RejectedResult = Extract<LoginResult, { refused: unknown }>

const TURN_REJECTIONS: Readonly<Record<TurnRejection, RejectedResult>> = {
  rate: { refused: 'rate', reason: 'too many log in at once from this address; try again later' },
  busy: { refused: 'busy', reason: 'too many log in at once; try again later' },
  gone: { refused: 'unavailable', reason: 'the client went before its turn came' },
}

/** Checks of certificates and tokens of one address that are under way at once. */
const MAX_CONCURRENT_CHECKS = 4

/** Has logins looked at, each in its turn, and no guess from where too many have failed. */
export class LoginService {
  readonly #authenticate: Authenticate
  readonly #throttle: LoginThrottle
  readonly #guessableLogins: LoginScheduler
  /** Of certificates and tokens: each check costs as much whether it succeeds or not. */
  readonly #verifiableLogins: LoginScheduler

  constructor(authenticate: Authenticate, clock: Clock) {
    this.#authenticate = authenticate
    this.#throttle = new LoginThrottle(clock)
    this.#guessableLogins = new LoginScheduler(clock)
    this.#verifiableLogins = new LoginScheduler(clock, MAX_CONCURRENT_CHECKS)
  }

  /** From where logins failed. */
  get failedLogins(): Pick<LoginThrottle, 'failures' | 'pause'> {
    return this.#throttle
  }

  /** Why a login is not looked at now; one that has to wait all the same must not keep others waiting. */
  rejectionFor(request: LoginRequest): RejectedResult | undefined {
    if (this.#isVerifiable(request)) return undefined
    const { remoteAddress = '', username } = request
    const pause = this.#throttle.pause(remoteAddress, username)
    if (pause === 0) return undefined
    return { refused: 'rate', reason: `too many logins failed; wait ${Math.ceil(pause / 1_000)} s` }
  }

  /** Looks at a login when its turn comes. What need not be kept from guessing waits for its turn alone, and for no pause. */
  async login(request: LoginRequest): Promise<LoginOutcome> {
    const { remoteAddress = '', username = request.clientId, signal } = request
    if (this.#isVerifiable(request)) {
      const outcome = await this.#verifiableLogins.run(
        remoteAddress,
        username,
        () => this.#authenticateRequest(request),
        signal,
      )
      return typeof outcome === 'string' ? TURN_REJECTIONS[outcome] : outcome
    }
    const attempt = async (): Promise<LoginOutcome> => {
      // Others may have failed meanwhile.
      const outcome = this.rejectionFor(request) ?? (await this.#authenticateRequest(request))
      // Somebody else may have failed meanwhile, and that counts as well.
      if ('refused' in outcome && outcome.refused === 'credentials')
        this.#throttle.failed(remoteAddress, request.username)
      return outcome
    }
    const outcome = await this.#guessableLogins.run(remoteAddress, username, attempt, signal)
    return typeof outcome === 'string' ? TURN_REJECTIONS[outcome] : outcome
  }

  /**
   * Somebody has come in. The name it gave counts if it is its own: who shows a certificate or token may give any, and would
   * have guesses of its own at each.
   */
  recordSuccess({ remoteAddress = '', username }: LoginRequest, principal: Principal): void {
    if (username !== undefined && username === principal.username) this.#throttle.succeeded(remoteAddress, username)
  }

  #isVerifiable(request: LoginRequest): boolean {
    return this.#authenticate.proofOf?.(request) === 'verifiable'
  }

  async #authenticateRequest(request: LoginRequest): Promise<LoginOutcome> {
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
const MAX_CONCURRENT_LOGINS = 16
/** One that takes longer no longer keeps others waiting, ms; it goes on for as long as its connection has. */
const MAX_TURN_MS = 1_000
/** Who has waited longer is refused, ms: of the ten seconds that a connection has, some are for the login itself. */
const MAX_WAIT_MS = 5_000
/** Who wait at one address, and at all of them. */
const MAX_QUEUED_PER_ADDRESS = 1_000
const MAX_QUEUED = 10_000

/** Why a login got no turn: `rate`, there are too many of its address; `busy`, of all; `gone`, nobody wants it any more. */
export type TurnRejection = 'rate' | 'busy' | 'gone'

interface QueuedLogin extends QueueEntry {
  readonly settle: (refused: TurnRejection | undefined) => void
  deadline: Deadline<() => void> | undefined
}

interface AddressState {
  readonly network: string
  readonly queue: LoginQueue<QueuedLogin>
  active: number
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
  readonly #stateByNetwork = new Map<string, AddressState>()
  readonly #maxConcurrent: number
  #queued = 0

  /** @param maxConcurrent - logins of one address that are under way at once */
  constructor(clock: Clock, maxConcurrent = MAX_CONCURRENT_LOGINS) {
    this.#maxConcurrent = maxConcurrent
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
  ): Promise<T | TurnRejection> {
    const network = networkOf(address)
    const state = this.#stateByNetwork.get(network) ?? { network, queue: new LoginQueue(), active: 0 }
    this.#stateByNetwork.set(network, state)
    if (state.active < this.#maxConcurrent) state.active++
    else {
      const refused = await this.#awaitTurn(state, name, signal)
      if (refused !== undefined) return refused
    }
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      this.#releaseSlot(state)
    }
    const deadline = this.#schedule(MAX_TURN_MS, release)
    try {
      return await task()
    } finally {
      this.#timeouts.remove(deadline)
      release()
    }
  }

  #awaitTurn(
    { queue }: AddressState,
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<TurnRejection | undefined> {
    if (queue.size >= MAX_QUEUED_PER_ADDRESS) {
      const evicted = queue.evictionCandidate(name)
      if (evicted === undefined) return Promise.resolve('rate')
      this.#rejectQueued(queue, evicted, 'rate')
    }
    if (this.#queued >= MAX_QUEUED) return Promise.resolve('busy')
    return new Promise(resolve => {
      const onAbort = (): void => this.#rejectQueued(queue, queued, 'gone')
      const settle = (refused: TurnRejection | undefined): void => {
        signal?.removeEventListener('abort', onAbort)
        resolve(refused)
      }
      const queued: QueuedLogin = { name, settle, deadline: undefined }
      queued.deadline = this.#schedule(MAX_WAIT_MS, () => this.#rejectQueued(queue, queued, 'rate'))
      signal?.addEventListener('abort', onAbort)
      queue.add(queued)
      this.#queued++
    })
  }

  #rejectQueued(queue: LoginQueue<QueuedLogin>, queued: QueuedLogin, refused: TurnRejection): void {
    queue.delete(queued)
    this.#settle(queued, refused)
  }

  #releaseSlot(address: AddressState): void {
    const next = address.queue.next()
    if (next !== undefined) this.#settle(next, undefined)
    else if (--address.active === 0) this.#stateByNetwork.delete(address.network)
  }

  #settle(queued: QueuedLogin, refused: TurnRejection | undefined): void {
    this.#queued--
    if (queued.deadline) this.#timeouts.remove(queued.deadline)
    queued.settle(refused)
  }

  #schedule(delayMs: number, callback: () => void): Deadline<() => void> {
    return this.#timeouts.add(this.#clock.monotonic() + delayMs, callback)
  }
}

/** Who waits for a turn to log in. */
export interface QueueEntry {
  /** Under which it wants to come in; those of one name share a place in the order. */
  readonly name: string
}

/**
 * Those who wait at one address, by name: names take turns, so that many logins under one name, however long they take, keep
 * those under another waiting for one of them and no more.
 *
 * @example
 * ```ts
 * queue.add({ name: 'panel' })
 * queue.next()?.name // the name whose turn it is, of those who wait the one that came first
 * ```
 */
export class LoginQueue<T extends QueueEntry> {
  /** The name whose turn it is first. */
  readonly #entriesByName = new Map<string, Set<T>>()
  #size = 0

  /** How many wait. */
  get size(): number {
    return this.#size
  }

  add(entry: T): void {
    const entries = this.#entriesByName.get(entry.name) ?? new Set()
    this.#entriesByName.set(entry.name, entries.add(entry))
    this.#size++
  }

  /** Harmless for one that does not wait any more. */
  delete(entry: T): void {
    const entries = this.#entriesByName.get(entry.name)
    if (!entries?.delete(entry)) return
    if (entries.size === 0) this.#entriesByName.delete(entry.name)
    this.#size--
  }

  /** Takes out the one whose turn it is; its name comes last then. */
  next(): T | undefined {
    for (const [name, entries] of this.#entriesByName) {
      const [first] = entries
      if (first === undefined) continue
      this.delete(first)
      if (this.#entriesByName.delete(name)) this.#entriesByName.set(name, entries)
      return first
    }
    return undefined
  }

  /** The one that is to give way to another with this name: of a name under which at least two more wait. */
  evictionCandidate(name: string): T | undefined {
    const ownCount = this.#entriesByName.get(name)?.size ?? 0
    let largest: ReadonlySet<T> | undefined
    for (const entries of this.#entriesByName.values())
      if (entries.size > (largest?.size ?? ownCount + 1)) largest = entries
    const [first] = largest ?? []
    return first
  }
}
