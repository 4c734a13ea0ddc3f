import { createHmac, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { randomBytes } from '../../core/util/bytes.js'
import { ArgumentError } from '../../core/util/errors.js'
import { networkOf } from '../../node/limits/network.js'
import type { LoginRequest, LoginResult, Method } from './login.js'
import { LoginQueue, type QueueEntry } from './login-service.js'

/** Hashes are made for so many at once, as each takes 16 MiB, and as many wait; then those give way of whom more do. */
const MAX_CONCURRENT_HASHES = 2
const MAX_QUEUED_CHECKS = 1_000

const WRONG: LoginResult = { refused: 'credentials', reason: 'user name or password is wrong' }
const BUSY: LoginResult = { refused: 'busy', reason: 'too many log in at once; try again later' }

/** Who waits, by its address. */
interface QueuedCheck extends QueueEntry {
  /** @param turn - whether it has got one */
  readonly settle: (turn: boolean) => void
}

/** User names and passwords of a file. */
export class Passwords {
  #users: ReadonlyMap<string, User>
  /** Of passwords that were right, by hash, so that clients that come back need not wait; the key is ours alone. */
  readonly #verifiedDigests = new Map<string, Buffer>()
  readonly #digestKey = randomBytes(32)
  /** Addresses take turns. */
  readonly #queue = new LoginQueue<QueuedCheck>()
  #running = 0
  /** For users there are not, so that these take as long. */
  #decoys: DecoyHashes

  /** @param text - the file; see {@link parsePasswordFile}. Throws {@link ArgumentError}. */
  constructor(text: string) {
    this.#users = parsePasswordFile(text)
    this.#decoys = new DecoyHashes(this.#users.values(), this.#digestKey)
  }

  /** Takes another file. Who is connected stays. Throws {@link ArgumentError}, and keeps the one before. */
  load(text: string): void {
    this.#users = parsePasswordFile(text)
    this.#decoys = new DecoyHashes(this.#users.values(), this.#digestKey)
    this.#verifiedDigests.clear()
  }

  /** The method: who shows a user name and a password, without enhanced authentication. */
  readonly method: Method = Object.assign(async (request: LoginRequest) => this.#check(request), {
    proofOf: (request: LoginRequest) => (credentialsOf(request) === undefined ? undefined : ('guessable' as const)),
  })

  async #check(request: LoginRequest): Promise<LoginResult | undefined> {
    const credentials = credentialsOf(request)
    if (credentials === undefined) return undefined
    const { username, password } = credentials
    const user = this.#users.get(username)
    const hash = user?.hash ?? this.#decoys.hashFor(username)
    const isCorrect =
      this.#isVerified(hash, password) ?? (await this.#runInSlot(request, () => matchesHash(password, hash)))
    if (isCorrect === undefined) return BUSY
    // The file may have been loaded anew meanwhile: only what it says of this user counts.
    const currentUser = this.#users.get(username)
    if (currentUser?.hash !== user?.hash) return this.#check(request)
    if (!isCorrect || currentUser === undefined) return WRONG
    this.#verifiedDigests.set(hash, this.#keyedDigest(password))
    return { principal: { id: `password ${username}`, username, attributes: currentUser.attributes } }
  }

  #isVerified(hash: string, password: Uint8Array): true | undefined {
    const digest = this.#verifiedDigests.get(hash)
    return digest && timingSafeEqual(digest, this.#keyedDigest(password)) ? true : undefined
  }

  #keyedDigest(password: Uint8Array): Buffer {
    return createHmac('sha256', this.#digestKey).update(password).digest()
  }

  /** Runs a task when fewer than {@link MAX_CONCURRENT_HASHES} run; `undefined` when it gets no turn. */
  async #runInSlot<T>(request: LoginRequest, task: () => Promise<T>): Promise<T | undefined> {
    if (this.#running < MAX_CONCURRENT_HASHES) this.#running++
    else if (!(await this.#awaitSlot(request))) return undefined
    try {
      return await task()
    } finally {
      const next = this.#queue.next()
      if (next) next.settle(true)
      else this.#running--
    }
  }

  /** Whether it has got a turn; it gets none when too many wait, or its client has gone. */
  async #awaitSlot({ remoteAddress = '', signal }: LoginRequest): Promise<boolean> {
    if (signal?.aborted) return false
    const queue = this.#queue
    const name = networkOf(remoteAddress)
    if (queue.size >= MAX_QUEUED_CHECKS) {
      const evicted = queue.evictionCandidate(name)
      if (evicted === undefined) return false
      queue.delete(evicted)
      evicted.settle(false)
    }
    return new Promise(resolve => {
      const onAbort = (): void => {
        queue.delete(queued)
        queued.settle(false)
      }
      const settle = (hasSlot: boolean): void => {
        signal?.removeEventListener('abort', onAbort)
        resolve(hasSlot)
      }
      const queued = { name, settle }
      signal?.addEventListener('abort', onAbort)
      queue.add(queued)
    })
  }
}

/** What the method is about, if it was shown. */
const credentialsOf = ({ username, password, method }: LoginRequest) =>
  username === undefined || password === undefined || method !== undefined ? undefined : { username, password }

/** As many values has the part of a digest that is taken for a number. */
const DIGEST_RANGE = 2 ** 48

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
  hashFor(name: string): string {
    const fraction = createHmac('sha256', this.#key).update(name).digest().readUIntBE(0, 6) / DIGEST_RANGE
    return decoyHash(this.#costs[Math.floor(fraction * this.#costs.length)])
  }
}

const workOf = ({ cost, blockSize, parallel }: HashCost): number => cost * blockSize * parallel

/** A user of a password file. */
export interface User {
  readonly name: string
  /** `$scrypt$ln=15,r=8,p=1$salt$hash`, Base64. */
  readonly hash: string
  readonly attributes: Readonly<Record<string, string>>
}

/** What a hash costs to compute: N, r and p of scrypt. */
export interface HashCost {
  readonly cost: number
  readonly blockSize: number
  readonly parallel: number
}

/** A hash, taken apart. */
interface ParsedHash extends HashCost {
  readonly salt: Buffer
  readonly digest: Buffer
}

const derive = promisify<Buffer | string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** scrypt: N = 2^14, r = 8, p = 1 takes 16 MiB and some 40 ms. (RFC 7914) */
const DEFAULT_COST: HashCost = { cost: 2 ** 14, blockSize: 8, parallel: 1 }
const HASH = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{16,128})\$([A-Za-z0-9+/]{40,128})$/
const SALT_BYTES = 16
const DIGEST_BYTES = 32
/** The author of the file may ask for as much, bytes. */
const MAX_SCRYPT_BYTES = 256 * 1024 * 1024
const MAX_PASSWORD_BYTES = 1_024

/**
 * Users of the lines of a password file: `name:hash`, or `name:hash:attribute=value&...` with both encoded as in a URL.
 * Empty lines and lines that begin with `#` are left out. Throws {@link ArgumentError} with the number of the line.
 */
export function parsePasswordFile(text: string): ReadonlyMap<string, User> {
  const users = new Map<string, User>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const user = parseUser(line, index + 1)
    if (users.has(user.name)) throw new ArgumentError(`line ${index + 1}: there is another line for ${user.name}`)
    users.set(user.name, user)
  }
  return users
}

/** The lines of a password file. */
export const formatPasswordFile = (users: Iterable<User>): string =>
  Array.from(users, ({ name, hash, attributes }) => {
    const suffix = new URLSearchParams(attributes).toString()
    return `${name}:${hash}${suffix === '' ? '' : `:${suffix}`}\n`
  }).join('')

/** Throws {@link ArgumentError} for what cannot be the name of a user in a password file. */
export function checkUserName(name: string): void {
  if (/^[^\s:#\p{Cc}][^:\p{Cc}]{0,254}$/u.test(name)) return
  throw new ArgumentError('Expected a user name of 1 to 255 characters without `:`, not beginning with a blank or `#`')
}

/** Hashes a new password. Throws {@link ArgumentError} for one that is empty or has more than 1,024 bytes. */
export async function hashPassword(password: Uint8Array): Promise<string> {
  if (password.length === 0 || password.length > MAX_PASSWORD_BYTES) {
    throw new ArgumentError(`Expected a password of 1 to ${MAX_PASSWORD_BYTES} bytes, got ${password.length}`)
  }
  const salt = Buffer.from(randomBytes(SALT_BYTES))
  const digest = await computeDigest(password, { ...DEFAULT_COST, salt, digest: Buffer.alloc(DIGEST_BYTES) })
  return formatHash(DEFAULT_COST, salt, digest)
}

/** What a hash that {@link parsePasswordFile} has read costs to compute. */
export function costOf(hash: string): HashCost {
  const { cost, blockSize, parallel } = parseHash(hash) ?? DEFAULT_COST
  return { cost, blockSize, parallel }
}

/** A hash that no password matches. @param cost - default that of {@link hashPassword} */
export const decoyHash = (cost: HashCost = DEFAULT_COST): string =>
  formatHash(cost, Buffer.from(randomBytes(SALT_BYTES)), Buffer.from(randomBytes(DIGEST_BYTES)))

/** Whether it is the password of a hash that {@link parsePasswordFile} has read. */
export async function matchesHash(password: Uint8Array, text: string): Promise<boolean> {
  const hash = parseHash(text)
  if (hash === undefined || password.length > MAX_PASSWORD_BYTES) return false
  return timingSafeEqual(await computeDigest(password, hash), hash.digest)
}

function parseUser(line: string, lineNumber: number): User {
  const [name = '', hash = '', attributes = '', ...rest] = line.split(':')
  try {
    checkUserName(name)
  } catch (cause) {
    throw new ArgumentError(`line ${lineNumber}: there is no name of a user before the first colon`, { cause })
  }
  if (parseHash(hash) === undefined || rest.length > 0)
    throw new ArgumentError(`line ${lineNumber}: after the name of the user there is no hash that \`passwd\` made`)
  return { name, hash, attributes: Object.fromEntries(new URLSearchParams(attributes)) }
}

function parseHash(text: string): ParsedHash | undefined {
  const [, log, r, p, salt = '', digest = ''] = HASH.exec(text) ?? []
  const hash = {
    cost: 2 ** Number(log),
    blockSize: Number(r),
    parallel: Number(p),
    salt: Buffer.from(salt, 'base64'),
    digest: Buffer.from(digest, 'base64'),
  }
  const isValid = log !== undefined && hash.cost > 1 && hash.blockSize > 0 && hash.parallel > 0
  return isValid && memoryBytesOf(hash) <= MAX_SCRYPT_BYTES ? hash : undefined
}

const computeDigest = (
  password: Uint8Array,
  { salt, digest, cost, blockSize, parallel }: ParsedHash,
): Promise<Buffer> =>
  derive(Buffer.from(password), salt, digest.length, {
    N: cost,
    r: blockSize,
    p: parallel,
    maxmem: MAX_SCRYPT_BYTES + 1024 * 1024,
  })

const formatHash = ({ cost, blockSize, parallel }: HashCost, salt: Buffer, digest: Buffer): string =>
  `$scrypt$ln=${Math.log2(cost)},r=${blockSize},p=${parallel}$${base64(salt)}$${base64(digest)}`

const memoryBytesOf = ({ cost, blockSize, parallel }: HashCost): number => 128 * blockSize * (cost + parallel)

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')
