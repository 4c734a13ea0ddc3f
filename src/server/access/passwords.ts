import { createHmac, timingSafeEqual } from 'node:crypto'
import { randomBytes } from '../../core/util/bytes.js'
import { networkOf } from '../../node/limits/network.js'
import type { LoginRequest, LoginResult, Method } from './login.js'
import { LoginLine, type Waiter } from './login-line.js'
import { costOf, decoyHash, type HashCost, matchesHash, parsePasswordFile, type User } from './password-file.js'

/** Hashes are made for so many at once, as each takes 16 MiB, and as many wait; then those give way of whom more do. */
const MOST_AT_ONCE = 2
const MOST_WAITING = 1_000

const WRONG: LoginResult = { refused: 'credentials', reason: 'user name or password is wrong' }
const BUSY: LoginResult = { refused: 'busy', reason: 'too many log in at once; try again later' }

/** Who waits, by its address. */
interface Place extends Waiter {
  /** @param turn - whether it has got one */
  readonly settle: (turn: boolean) => void
}

/** User names and passwords of a file. */
export class Passwords {
  #users: ReadonlyMap<string, User>
  /** Of passwords that were right, by hash, so that clients that come back need not wait; the key is ours alone. */
  readonly #known = new Map<string, Buffer>()
  readonly #key = randomBytes(32)
  /** Addresses take turns. */
  readonly #line = new LoginLine<Place>()
  #busy = 0
  /** For users there are not, so that these take as long. */
  #decoys: DecoyHashes

  /** @param text - the file; see {@link parsePasswordFile}. Throws {@link ArgumentError}. */
  constructor(text: string) {
    this.#users = parsePasswordFile(text)
    this.#decoys = new DecoyHashes(this.#users.values(), this.#key)
  }

  /** Takes another file. Who is connected stays. Throws {@link ArgumentError}, and keeps the one before. */
  load(text: string): void {
    this.#users = parsePasswordFile(text)
    this.#decoys = new DecoyHashes(this.#users.values(), this.#key)
    this.#known.clear()
  }

  /** The method: who shows a user name and a password, without enhanced authentication. */
  readonly method: Method = Object.assign(async (request: LoginRequest) => this.#judge(request), {
    proofOf: (request: LoginRequest) => (shownTo(request) === undefined ? undefined : ('guessable' as const)),
  })

  async #judge(request: LoginRequest): Promise<LoginResult | undefined> {
    const shown = shownTo(request)
    if (shown === undefined) return undefined
    const { username, password } = shown
    const user = this.#users.get(username)
    const hash = user?.hash ?? this.#decoys.of(username)
    const right = this.#isKnown(hash, password) ?? (await this.#inTurn(request, () => matchesHash(password, hash)))
    if (right === undefined) return BUSY
    // The file may have been loaded anew meanwhile: only what it says of this user counts.
    const now = this.#users.get(username)
    if (now?.hash !== user?.hash) return this.#judge(request)
    if (!right || now === undefined) return WRONG
    this.#known.set(hash, this.#mark(password))
    return { principal: { id: `password ${username}`, username, attributes: now.attributes } }
  }

  #isKnown(hash: string, password: Uint8Array): true | undefined {
    const mark = this.#known.get(hash)
    return mark && timingSafeEqual(mark, this.#mark(password)) ? true : undefined
  }

  #mark(password: Uint8Array): Buffer {
    return createHmac('sha256', this.#key).update(password).digest()
  }

  /** Runs a task when fewer than {@link MOST_AT_ONCE} run; `undefined` when it gets no turn. */
  async #inTurn<T>(request: LoginRequest, task: () => Promise<T>): Promise<T | undefined> {
    if (this.#busy < MOST_AT_ONCE) this.#busy++
    else if (!(await this.#turn(request))) return undefined
    try {
      return await task()
    } finally {
      const next = this.#line.next()
      if (next) next.settle(true)
      else this.#busy--
    }
  }

  /** Whether it has got a turn; it gets none when too many wait, or its client has gone. */
  async #turn({ remoteAddress = '', signal }: LoginRequest): Promise<boolean> {
    if (signal?.aborted) return false
    const line = this.#line
    const name = networkOf(remoteAddress)
    if (line.size >= MOST_WAITING) {
      const yielding = line.yielding(name)
      if (yielding === undefined) return false
      line.delete(yielding)
      yielding.settle(false)
    }
    return new Promise(resolve => {
      const leave = (): void => {
        line.delete(place)
        place.settle(false)
      }
      const settle = (turn: boolean): void => {
        signal?.removeEventListener('abort', leave)
        resolve(turn)
      }
      const place = { name, settle }
      signal?.addEventListener('abort', leave)
      line.add(place)
    })
  }
}

/** What the method is about, if it was shown. */
const shownTo = ({ username, password, method }: LoginRequest) =>
  username === undefined || password === undefined || method !== undefined ? undefined : { username, password }

/** As many values has the part of a digest that is taken for a number. */
const RANGE = 2 ** 48

/**
 * Hashes for users there are not. What a password costs to look at depends on the hash of its user, and would tell who is in
 * the file: so a name that is not costs always the same, and of many such names as many cost so much as of those that are.
 */
export class DecoyHashes {
  readonly #key: Uint8Array
  /** Of one user each, cheapest first. */
  readonly #costs: readonly HashCost[]

  /** @param key - not known outside, or which name costs what could be foretold */
  constructor(users: Iterable<User>, key: Uint8Array) {
    this.#key = key
    this.#costs = Array.from(users, ({ hash }) => costOf(hash)).sort((a, b) => workOf(a) - workOf(b))
  }

  /** A hash that no password matches. */
  of(name: string): string {
    const share = createHmac('sha256', this.#key).update(name).digest().readUIntBE(0, 6) / RANGE
    return decoyHash(this.#costs[Math.floor(share * this.#costs.length)])
  }
}

const workOf = ({ cost, blockSize, parallel }: HashCost): number => cost * blockSize * parallel
