import { createHmac, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { randomBytes } from '../../core/util/bytes.js'
import { ArgumentError } from '../../core/util/errors.js'
import { networkOf } from '../../node/limits/network.js'
import type { LoginRequest, LoginResult, Method } from './login.js'
import { LoginQueue, type QueueEntry } from './login-service.js'

/**
 * The limits on running and queued checks. Each hash takes 16 MiB. When the queue is full, the address with the most
 * queued checks loses a check.
 */
const MAX_CONCURRENT_HASHES = 2
const MAX_QUEUED_CHECKS = 1_000

const WRONG: LoginResult = { refused: 'credentials', reason: 'user name or password is wrong' }
const BUSY: LoginResult = { refused: 'busy', reason: 'too many concurrent logins; try again later' }

interface QueuedCheck extends QueueEntry {
  readonly settle: (hasSlot: boolean) => void
}

/** Checks user names and passwords against a password file. */
export class Passwords {
  #users: ReadonlyMap<string, User>
  /**
   * Digests of correct passwords by hash, so that returning clients skip the hashing. The digests are keyed with a
   * secret of this process.
   */
  readonly #verifiedDigests = new Map<string, Buffer>()
  readonly #digestKey = randomBytes(32)
  readonly #queue = new LoginQueue<QueuedCheck>()
  #running = 0
  #decoys: DecoyHashes

  /**
   * Creates a checker for a password file. Throws {@link ArgumentError} if the text is invalid.
   *
   * @param text - contents of the file (see {@link parsePasswordFile})
   */
  constructor(text: string) {
    this.#users = parsePasswordFile(text)
    this.#decoys = new DecoyHashes(this.#users.values(), this.#digestKey)
  }

  /**
   * Replaces the users without disconnecting any client. If the text is invalid, throws {@link ArgumentError} and keeps
   * the previous users.
   */
  load(text: string): void {
    this.#users = parsePasswordFile(text)
    this.#decoys = new DecoyHashes(this.#users.values(), this.#digestKey)
    this.#verifiedDigests.clear()
  }

  /** Authenticates clients that send a user name and a password, without enhanced authentication. */
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
    // The file may have been reloaded during the check, so only the current entry of this user counts.
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

  /** Runs a task as soon as a slot is free. Returns `undefined` if the queue is full or the client has disconnected. */
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

const credentialsOf = ({ username, password, method }: LoginRequest) =>
  username === undefined || password === undefined || method !== undefined ? undefined : { username, password }

const DIGEST_RANGE = 2 ** 48

/**
 * Assigns hashes to unknown users. The cost of a check depends on the user's hash, so it would reveal which users
 * exist. Therefore an unknown name always gets the same cost, and unknown names get each cost as often as the users of
 * the file do.
 */
export class DecoyHashes {
  readonly #key: Uint8Array
  readonly #costs: readonly HashCost[]

  /** @param key - secret key, so that the cost of a name cannot be predicted */
  constructor(users: Iterable<User>, key: Uint8Array) {
    this.#key = key
    this.#costs = Array.from(users, ({ hash }) => costOf(hash)).sort((a, b) => workOf(a) - workOf(b))
  }

  hashFor(name: string): string {
    const fraction = createHmac('sha256', this.#key).update(name).digest().readUIntBE(0, 6) / DIGEST_RANGE
    return decoyHash(this.#costs[Math.floor(fraction * this.#costs.length)])
  }
}

const workOf = ({ cost, blockSize, parallel }: HashCost): number => cost * blockSize * parallel

export interface User {
  readonly name: string
  /** A hash in the form `$scrypt$ln=15,r=8,p=1$salt$hash`, with salt and hash in Base64. */
  readonly hash: string
  readonly attributes: Readonly<Record<string, string>>
}

/** The parameters N, r and p of scrypt. */
export interface HashCost {
  readonly cost: number
  readonly blockSize: number
  readonly parallel: number
}

interface ParsedHash extends HashCost {
  readonly salt: Buffer
  readonly digest: Buffer
}

const derive = promisify<Buffer | string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** One scrypt hash with N = 2^14, r = 8 and p = 1 takes 16 MiB and about 40 ms (RFC 7914). */
const DEFAULT_COST: HashCost = { cost: 2 ** 14, blockSize: 8, parallel: 1 }
const HASH = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{16,128})\$([A-Za-z0-9+/]{40,128})$/
const SALT_BYTES = 16
const DIGEST_BYTES = 32
/** The limit on the memory that one hash of the file may require. */
const MAX_SCRYPT_BYTES = 256 * 1024 * 1024
const MAX_PASSWORD_BYTES = 1_024

/**
 * Parses the lines of a password file: `name:hash`, or `name:hash:attribute=value&...` with the attribute's name and
 * value URL-encoded. Skips empty lines and lines that begin with `#`. Throws {@link ArgumentError} with the line
 * number.
 */
export function parsePasswordFile(text: string): ReadonlyMap<string, User> {
  const users = new Map<string, User>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const user = parseUser(line, index + 1)
    if (users.has(user.name)) throw new ArgumentError(`line ${index + 1}: the user ${user.name} already has a line`)
    users.set(user.name, user)
  }
  return users
}

export const formatPasswordFile = (users: Iterable<User>): string =>
  Array.from(users, ({ name, hash, attributes }) => {
    const suffix = new URLSearchParams(attributes).toString()
    return `${name}:${hash}${suffix === '' ? '' : `:${suffix}`}\n`
  }).join('')

export function checkUserName(name: string): void {
  if (/^[^\s:#\p{Cc}][^:\p{Cc}]{0,254}$/u.test(name)) return
  throw new ArgumentError('Expected a user name of 1 to 255 characters without `:`, not starting with a space or `#`')
}

/** Hashes a new password. Throws {@link ArgumentError} if the password does not have 1 to 1,024 bytes. */
export async function hashPassword(password: Uint8Array): Promise<string> {
  if (password.length === 0 || password.length > MAX_PASSWORD_BYTES) {
    throw new ArgumentError(`Expected a password of 1 to ${MAX_PASSWORD_BYTES} bytes, got ${password.length}`)
  }
  const salt = Buffer.from(randomBytes(SALT_BYTES))
  const digest = await computeDigest(password, { ...DEFAULT_COST, salt, digest: Buffer.alloc(DIGEST_BYTES) })
  return formatHash(DEFAULT_COST, salt, digest)
}

/** Returns the cost of a hash that {@link parsePasswordFile} has accepted. */
export function costOf(hash: string): HashCost {
  const { cost, blockSize, parallel } = parseHash(hash) ?? DEFAULT_COST
  return { cost, blockSize, parallel }
}

/**
 * Returns a hash of a random password.
 *
 * @param cost - cost of the hash; default: the cost of {@link hashPassword}
 */
export const decoyHash = (cost: HashCost = DEFAULT_COST): string =>
  formatHash(cost, Buffer.from(randomBytes(SALT_BYTES)), Buffer.from(randomBytes(DIGEST_BYTES)))

/** Returns whether a password matches a hash that {@link parsePasswordFile} has accepted. */
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
    throw new ArgumentError(`line ${lineNumber}: expected a user name before the first colon`, { cause })
  }
  if (parseHash(hash) === undefined || rest.length > 0)
    throw new ArgumentError(`line ${lineNumber}: expected a hash made by \`passwd\` after the user name`)
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
