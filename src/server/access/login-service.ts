import { checkArgument } from '../../core/util/check.js'
import type { Clock } from '../../core/util/clock.js'
import type { Deadline } from '../../core/util/deadlines.js'
import { StringMap } from '../../core/util/string-map.js'
import { Timeouts } from '../../core/util/timeouts.js'
import { networkOf } from '../../node/limits/network.js'
import { LoginThrottle } from '../../node/limits/throttle.js'
import { type Authenticate, checkPrincipal, type LoginRequest, type LoginResult, type Principal } from './login.js'

export type LoginOutcome = LoginResult | { readonly thrown: unknown }

type RejectedResult = Extract<LoginResult, { refused: unknown }>

const TURN_REJECTIONS: Readonly<Record<TurnRejection, RejectedResult>> = {
  rate: { refused: 'rate', reason: 'too many concurrent logins from this address; try again later' },
  busy: { refused: 'busy', reason: 'too many concurrent logins; try again later' },
  gone: { refused: 'unavailable', reason: 'the client disconnected while its login was queued' },
}

const MAX_CONCURRENT_CHECKS = 4
/**
 * The maximum length of a user name, in UTF-16 code units. {@link LoginQueue} would serve names last that are too long
 * for V8 to hash their content.
 */
export const MAX_USERNAME_LENGTH = 4_096

const NAME_TOO_LONG: RejectedResult = {
  refused: 'credentials',
  reason: `the user name has more than ${MAX_USERNAME_LENGTH} characters`,
}

/** Schedules logins per address, and throttles addresses with too many failed logins. */
export class LoginService {
  readonly #authenticate: Authenticate
  readonly #throttle: LoginThrottle
  readonly #guessableLogins: LoginScheduler
  /**
   * The scheduler of verifiable logins. It is separate, because checking a verifiable proof costs the same whether the
   * check succeeds or fails.
   */
  readonly #verifiableLogins: LoginScheduler

  constructor(authenticate: Authenticate, clock: Clock) {
    this.#authenticate = authenticate
    this.#throttle = new LoginThrottle(clock)
    this.#guessableLogins = new LoginScheduler(clock)
    this.#verifiableLogins = new LoginScheduler(clock, MAX_CONCURRENT_CHECKS)
  }

  get failedLogins(): Pick<LoginThrottle, 'failures' | 'pause'> {
    return this.#throttle
  }

  /**
   * Returns why a login is rejected without a check. Callers check this first, so that a throttled login takes no slot.
   */
  rejectionFor(request: LoginRequest): RejectedResult | undefined {
    const { remoteAddress = '', username } = request
    if (username !== undefined && username.length > MAX_USERNAME_LENGTH) return NAME_TOO_LONG
    if (this.#isVerifiable(request)) return undefined
    const pause = this.#throttle.pause(remoteAddress, username)
    if (pause === 0) return undefined
    return { refused: 'rate', reason: `too many failed logins; try again in ${Math.ceil(pause / 1_000)} s` }
  }

  /**
   * Authenticates a request as soon as a slot is free. Verifiable proofs are scheduled separately and never throttled.
   */
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
      // Other logins may have failed while this login was queued.
      const outcome = this.rejectionFor(request) ?? (await this.#authenticateRequest(request))
      if ('refused' in outcome && outcome.refused === 'credentials')
        this.#throttle.recordFailure(remoteAddress, request.username)
      return outcome
    }
    const outcome = await this.#guessableLogins.run(remoteAddress, username, attempt, signal)
    return typeof outcome === 'string' ? TURN_REJECTIONS[outcome] : outcome
  }

  /**
   * Resets the throttle for a user name if the name is the principal's own. A client with a certificate or token may
   * send any user name, and could otherwise reset the throttle for every name.
   */
  recordSuccess({ remoteAddress = '', username }: LoginRequest, principal: Principal): void {
    if (username !== undefined && username === principal.username) this.#throttle.recordSuccess(remoteAddress, username)
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

/** Rejects a missing result. Otherwise, a function that forgets to return a result would admit its clients. */
function checkResult(result: unknown): asserts result is LoginResult {
  checkArgument(
    typeof result === 'object' && result !== null,
    '`authenticate` to return an object with `principal`, `refused` or `challenge`',
    result,
  )
}

/**
 * The limit on concurrent logins per address. With a higher limit, more guesses would be checked before the first one
 * has failed.
 */
const MAX_CONCURRENT_LOGINS = 16
/** A slower login releases its slot but continues until its connection times out. */
const MAX_TURN_MS = 1_000
/** A connection has ten seconds to log in. This limit leaves part of them for the check itself. */
const MAX_WAIT_MS = 5_000
const MAX_QUEUED_PER_ADDRESS = 1_000
const MAX_QUEUED = 10_000

/**
 * The reason why a login got no slot. `rate`: too many logins at its address. `busy`: too many logins in total. `gone`:
 * the client disconnected.
 */
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
 * Limits the concurrent logins of each address. Queues and waiting times are bounded.
 *
 * @example
 * ```ts
 * const outcome = await scheduler.run('192.0.2.1', 'panel', async () =>
 *   login(),
 * )
 * if (outcome === 'rate' || outcome === 'busy') refuse(outcome)
 * ```
 */
export class LoginScheduler {
  readonly #clock: Clock
  readonly #timeouts: Timeouts<() => void>
  readonly #stateByNetwork = new Map<string, AddressState>()
  readonly #maxConcurrent: number
  #queued = 0

  constructor(clock: Clock, maxConcurrent = MAX_CONCURRENT_LOGINS) {
    this.#maxConcurrent = maxConcurrent
    this.#clock = clock
    this.#timeouts = new Timeouts(clock, due => due())
  }

  /**
   * Runs a task as soon as a slot is free, or returns why the task gets no slot.
   *
   * @param name - user name, for fairness within the address
   * @param signal - aborted when the client disconnects
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

export interface QueueEntry {
  readonly name: string
}

/**
 * Queued logins of one address, served round-robin by user name. Many slow logins under one name delay a login under
 * another name by at most one of them.
 *
 * @example
 * ```ts
 * queue.add({ name: 'panel' })
 * // The oldest entry of the next name
 * queue.next()?.name
 * ```
 */
export class LoginQueue<T extends QueueEntry> {
  readonly #entriesByName = new StringMap<Set<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(entry: T): void {
    const entries = this.#entriesByName.get(entry.name) ?? new Set()
    this.#entriesByName.set(entry.name, entries.add(entry))
    this.#size++
  }

  delete(entry: T): void {
    const entries = this.#entriesByName.get(entry.name)
    if (!entries?.delete(entry)) return
    if (entries.size === 0) this.#entriesByName.delete(entry.name)
    this.#size--
  }

  /** Removes and returns the next entry, and moves its name to the end of the rotation. */
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

  /**
   * Returns the entry to evict in favour of a new entry of this name. That is the oldest entry of the name with the most
   * entries, provided that it has at least two more entries than this name.
   */
  evictionCandidate(name: string): T | undefined {
    const ownCount = this.#entriesByName.get(name)?.size ?? 0
    let largest: ReadonlySet<T> | undefined
    for (const entries of this.#entriesByName.values())
      if (entries.size > (largest?.size ?? ownCount + 1)) largest = entries
    const [first] = largest ?? []
    return first
  }
}
