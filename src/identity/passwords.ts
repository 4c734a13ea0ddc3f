import { createHmac, timingSafeEqual } from 'node:crypto'
import { randomBytes } from '../base/random.js'
import type { LoginResult, Method } from './login.js'
import { hashPassword, matchesHash, parsePasswordFile, type User } from './password-file.js'

/** Hashes are made for so many at once, as each takes 16 MiB, and for nobody while as many more wait. */
const MOST_AT_ONCE = 2
const MOST_WAITING = 1_000

const WRONG: LoginResult = { refused: 'credentials', reason: 'user name or password is wrong' }
const BUSY: LoginResult = { refused: 'unavailable', reason: 'too many log in at once; try again later' }

/** User names and passwords of a file. */
export class Passwords {
  #users: ReadonlyMap<string, User>
  /** Of passwords that were right, by hash, so that clients that come back need not wait; the key is ours alone. */
  readonly #known = new Map<string, Buffer>()
  readonly #key = randomBytes(32)
  readonly #turns: (() => void)[] = []
  #busy = 0
  /** For users there are not, so that these take as long. */
  #decoy: Promise<string> | undefined

  /** @param text - the file; see {@link parsePasswordFile}. Throws {@link ArgumentError}. */
  constructor(text: string) {
    this.#users = parsePasswordFile(text)
  }

  /** Takes another file. Who is connected stays. Throws {@link ArgumentError}, and keeps the one before. */
  load(text: string): void {
    this.#users = parsePasswordFile(text)
    this.#known.clear()
  }

  /** The method: who shows a user name and a password, without enhanced authentication. */
  readonly method: Method = async request => {
    const { username, password, method } = request
    if (username === undefined || password === undefined || method !== undefined) return undefined
    const user = this.#users.get(username)
    const hash = user?.hash ?? (await this.#decoyHash())
    const right = this.#isKnown(hash, password) ?? (await this.#inTurn(() => matchesHash(password, hash)))
    if (right === undefined) return BUSY
    // The file may have been loaded anew meanwhile: only what it says of this user counts.
    const now = this.#users.get(username)
    if (now?.hash !== user?.hash) return this.method(request)
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

  #decoyHash(): Promise<string> {
    this.#decoy ??= hashPassword(randomBytes(16))
    return this.#decoy
  }

  /** Runs a task when fewer than {@link MOST_AT_ONCE} run; `undefined` when too many wait already. */
  async #inTurn<T>(task: () => Promise<T>): Promise<T | undefined> {
    if (this.#busy >= MOST_AT_ONCE) {
      if (this.#turns.length >= MOST_WAITING) return undefined
      await new Promise<void>(resolve => this.#turns.push(resolve))
    } else this.#busy++
    try {
      return await task()
    } finally {
      const next = this.#turns.shift()
      if (next) next()
      else this.#busy--
    }
  }
}
