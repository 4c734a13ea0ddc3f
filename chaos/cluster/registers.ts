import type { DeleteResult, SetResult } from 'rx-statestore'
import { StateStoreError, text } from 'rx-statestore'
import type { Observable } from 'rxjs'
import { now } from '../now.js'
import type { Participant } from '../participant.js'
import type { Random } from '../random.js'
import type { Violations } from '../violations.js'

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

/**
 * The number of keys in use at a time, and their period of use in ms. Both are limited, because the checker's search
 * space grows with the length of histories.
 */
const KEYS_IN_USE = 6
const KEY_PERIOD_MS = 4_000
/** The codes of errors after which the operation was certainly not applied. */
const NOT_DONE = ['timeout', 'closed', 'request-rejected']

export class RegisterHistories {
  #keys: Map<string, Operation[]> = new Map()
  #start = now()
  #values = 0
  /** The time when each version was first known to a client, in monotonic ms. */
  answered: Map<string, number> = new Map()

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

  add(key: string, operation: Operation) {
    const operations = this.#keys.get(key)
    if (operations) operations.push(operation)
    else this.#keys.set(key, [operation])
  }

  recordVersion(version: unknown) {
    if (version !== undefined && !this.answered.has(String(version))) this.answered.set(String(version), now())
  }

  /** Yields one line for each key. */
  *lines() {
    for (const [key, operations] of this.#keys) yield `${JSON.stringify({ key, operations })}\n`
  }
}

export class RegisterClient {
  /** The number of operations without an outcome. */
  pending = 0
  #histories
  #participant
  #number
  #random
  #violations
  #onAnswered
  /**
   * The keys with a pending operation of this client. They are avoided, because the checker has to try all orders of
   * concurrent operations.
   */
  #pendingKeys: Set<string> = new Set()
  #lastKnown: Map<string, { value: string; version: unknown }> = new Map()

  /**
   * @param number - number of the client
   * @param onAnswered - called with the start time of each answered request
   */
  constructor(
    histories: RegisterHistories,
    participant: Pick<Participant, 'store'>,
    number: number,
    random: Random,
    violations: Violations,
    onAnswered: (invoked: number) => void,
  ) {
    this.#histories = histories
    this.#participant = participant
    this.#number = number
    this.#random = random
    this.#violations = violations
    this.#onAnswered = onAnswered
  }

  /** Forgets the keys seen by the previous client, which are no longer in use. */
  start() {
    this.#lastKnown.clear()
  }

  performOperation() {
    const random = this.#random
    const key = this.#histories.pickKey(random)
    if (this.#pendingKeys.has(key)) return
    const handle = this.#participant.store.key(key, text)
    const seen = this.#lastKnown.get(key)
    const value = this.#histories.nextValue()
    const dice = random.next()
    if (dice < 0.35) this.read(key)
    else if (dice < 0.6) this.#write(key, { op: 'set', value }, handle.set(value))
    else if (dice < 0.7) this.#write(key, { op: 'set-if-absent', value }, handle.set(value, { ifAbsent: true }))
    else if (dice < 0.78 || seen === undefined) this.#write(key, { op: 'delete' }, handle.delete())
    else if (dice < 0.86) this.#write(key, { op: 'delete-if', expected: seen.value }, handle.deleteIf(seen.value))
    else
      this.#write(
        key,
        { op: 'set-if-version', value, expected: seen.value },
        handle.set(value, { ifVersion: String(seen.version) }),
      )
  }

  read(key: string) {
    const startedAt = this.#begin(key)
    this.#participant.store.get(key, text).subscribe({
      next: entry => {
        const found = entry.op === 'set' ? entry.value : ''
        if (found !== '') this.#lastKnown.set(key, { value: found, version: entry.version })
        this.#finish(key, { op: 'read', found }, startedAt)
      },
      // A failed read constrains no history.
      error: error => this.#handleError(key, error),
    })
  }

  #write(
    key: string,
    operation: Pick<Operation, 'op' | 'value' | 'expected'>,
    result$: Observable<SetResult | DeleteResult>,
  ) {
    const startedAt = this.#begin(key)
    result$.subscribe({
      next: result => {
        const applied = 'applied' in result ? result.applied : result.deleted
        const version = 'version' in result ? result.version : undefined
        if (applied && operation.value !== undefined) {
          this.#histories.recordVersion(version)
          this.#lastKnown.set(key, { value: operation.value, version })
        }
        this.#finish(key, { ...operation, applied }, startedAt)
      },
      error: error => {
        if (this.#handleError(key, error)) this.#add(key, operation, startedAt, null)
      },
    })
  }

  #finish(key: string, operation: Omit<Operation, 'client' | 'invoke' | 'return'>, startedAt: number) {
    this.pending--
    this.#pendingKeys.delete(key)
    this.#add(key, operation, startedAt, now())
    this.#onAnswered(startedAt)
  }

  #begin(key: string) {
    this.pending++
    this.#pendingKeys.add(key)
    return now()
  }

  /** Handles an error. Returns whether the operation may have been applied despite the error. */
  #handleError(key: string, error: unknown) {
    this.pending--
    this.#pendingKeys.delete(key)
    const code = error instanceof StateStoreError ? error.code : undefined
    if (code === undefined || ![...NOT_DONE, 'outcome-unknown'].includes(code))
      this.#violations.add('unexpected error of a request', error)
    return !NOT_DONE.includes(code ?? '')
  }

  #add(
    key: string,
    operation: Omit<Operation, 'client' | 'invoke' | 'return'>,
    startedAt: number,
    ended: number | null,
  ) {
    const [invoke, end] = [Math.round(startedAt * 1e6), ended === null ? null : Math.round(ended * 1e6)]
    this.#histories.add(key, { client: this.#number, ...operation, invoke, return: end })
  }
}
