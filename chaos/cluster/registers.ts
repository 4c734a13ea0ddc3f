import { type DeleteResult, type SetResult, StateStoreError, text } from 'rx-statestore'
import type { Violations } from '../../harness/judges/violations.js'
import type { Random } from '../../harness/random.js'
import { now } from '../now.js'
import type { Participant } from '../participant.js'

export interface Operation {
  client: number
  op: 'read' | 'set' | 'set-if-absent' | 'set-if-version' | 'delete' | 'delete-if'
  /** value written */
  value?: string
  /** value required by the condition */
  expected?: string
  /** value read, or '' if there is none */
  found?: string
  /** `undefined` if the outcome is unknown */
  applied?: boolean
  /** time of the request in monotonic ns */
  invoke: number
  /** time of the response, or null if the outcome is unknown */
  return: number | null
}

type Started = Pick<Operation, 'op' | 'value' | 'expected'>
type Outcome = Pick<Operation, 'found' | 'applied'>

/**
 * The number of keys in use at a time, and their period of use in ms. Both are limited, because the checker's search
 * space grows with the length of histories.
 */
const KEYS_IN_USE = 6
const KEY_PERIOD_MS = 4_000
/** The codes of errors after which the operation was certainly not applied. */
const NOT_DONE = ['timeout', 'closed', 'request-rejected']

/** The operations on each key, in the order of their ends. */
export class RegisterHistories {
  #keys: Map<string, Operation[]> = new Map()
  #start = now()
  #values = 0
  /** The time when each version was first known to a client, in monotonic ms. */
  readonly answered: Map<string, number> = new Map()

  get keys() {
    return [...this.#keys.keys()]
  }

  get size() {
    return Array.from(this.#keys.values()).reduce((sum, { length }) => sum + length, 0)
  }

  nextValue() {
    return `v${this.#values++}`
  }

  pickKey(random: Random) {
    return `reg/${Math.floor((now() - this.#start) / KEY_PERIOD_MS)}/${random.int(1, KEYS_IN_USE)}`
  }

  /** Adds an operation that began and ended at times in monotonic ms. Without an end, its outcome is unknown. */
  add(key: string, operation: Omit<Operation, 'invoke' | 'return'>, begin: number, end?: number) {
    const operations = this.#keys.get(key) ?? []
    this.#keys.set(key, operations)
    operations.push({ ...operation, invoke: nanoseconds(begin), return: end === undefined ? null : nanoseconds(end) })
  }

  recordVersion(version: unknown) {
    if (version !== undefined && !this.answered.has(String(version))) this.answered.set(String(version), now())
  }

  /** Yields one line for each key. */
  *lines() {
    for (const [key, operations] of this.#keys) yield `${JSON.stringify({ key, operations })}\n`
  }
}

const nanoseconds = (ms: number) => Math.round(ms * 1e6)

export interface RegisterClientOptions {
  /** number of the client */
  readonly number: number
  readonly random: Random
  readonly violations: Violations
  /** called with the start time of each answered request */
  readonly onAnswered?: (invoked: number) => void
}

/** Performs operations on registers, and records their outcomes. */
export class RegisterClient {
  #histories
  #participant
  #options
  #random
  /**
   * The keys with a pending operation of this client. They are avoided, because the checker has to try all orders of
   * concurrent operations.
   */
  #pendingKeys: Set<string> = new Set()
  #known: Map<string, { value: string; version: unknown }> = new Map()

  constructor(histories: RegisterHistories, participant: Pick<Participant, 'store'>, options: RegisterClientOptions) {
    this.#histories = histories
    this.#participant = participant
    this.#options = options
    this.#random = options.random
  }

  /** The number of operations without an outcome. */
  get pending() {
    return this.#pendingKeys.size
  }

  /** Forgets the keys seen by the previous client, which are no longer in use. */
  start() {
    this.#known.clear()
  }

  async performOperation() {
    const random = this.#random
    const key = this.#histories.pickKey(random)
    if (this.#pendingKeys.has(key)) return
    const handle = this.#participant.store.key(key, text)
    const known = this.#known.get(key)
    const value = this.#histories.nextValue()
    const dice = random.next()
    if (dice < 0.35) await this.read(key)
    else if (dice < 0.6) await this.#set(key, { op: 'set', value }, handle.set(value))
    else if (dice < 0.7) await this.#set(key, { op: 'set-if-absent', value }, handle.set(value, { ifAbsent: true }))
    else if (dice < 0.78 || known === undefined) await this.#delete(key, { op: 'delete' }, handle.delete())
    else if (dice < 0.86)
      await this.#delete(key, { op: 'delete-if', expected: known.value }, handle.deleteIf(known.value))
    else {
      const operation = { op: 'set-if-version', value, expected: known.value } as const
      await this.#set(key, operation, handle.set(value, { ifVersion: String(known.version) }))
    }
  }

  async read(key: string) {
    await this.#perform(key, { op: 'read' }, this.#participant.store.get(key, text), ({ op, value, version }) => {
      if (op !== 'set') return { found: '' }
      this.#known.set(key, { value, version })
      return { found: value }
    })
  }

  async #set(key: string, operation: Started & { value: string }, request: PromiseLike<SetResult>) {
    await this.#perform(key, operation, request, ({ applied, version }) => {
      if (applied) {
        this.#histories.recordVersion(version)
        this.#known.set(key, { value: operation.value, version })
      }
      return { applied }
    })
  }

  async #delete(key: string, operation: Started, request: PromiseLike<DeleteResult>) {
    await this.#perform(key, operation, request, ({ deleted }) => ({ applied: deleted }))
  }

  async #perform<T>(key: string, started: Started, request: PromiseLike<T>, outcomeOf: (result: T) => Outcome) {
    const { number, violations, onAnswered } = this.#options
    const operation = { client: number, ...started }
    const begin = now()
    this.#pendingKeys.add(key)
    try {
      const result = await request
      this.#histories.add(key, { ...operation, ...outcomeOf(result) }, begin, now())
      onAnswered?.(begin)
    } catch (error) {
      const code = error instanceof StateStoreError ? error.code : ''
      if (![...NOT_DONE, 'outcome-unknown'].includes(code)) violations.add('unexpected error of a request', error)
      // A failed read constrains no history.
      if (!NOT_DONE.includes(code) && started.op !== 'read') this.#histories.add(key, operation, begin)
    } finally {
      this.#pendingKeys.delete(key)
    }
  }
}
