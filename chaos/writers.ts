import type { DeleteResult, SetResult } from 'rx-statestore'
import { StateStoreError, set, text } from 'rx-statestore'
import type { Observable } from 'rxjs'
import { from } from 'rxjs'
import { nameOf, uniqueValue } from '../harness/judges/values.js'
import type { EndedWrite } from '../harness/judges/writes.js'
import type { Random } from '../harness/random.js'
import type { ChaosClient, ChaosContext } from './context.js'
import { now } from './now.js'

type Write = Pick<EndedWrite, 'verb' | 'key' | 'value'> & { expires?: boolean }
type Result = SetResult | DeleteResult | { error: unknown }

/** The maximum time to live in ms. No key expires later than this time after the last write. */
export const MAX_LIFETIME_MS = 2_000

/** The codes of errors that are expected under faults. */
const READ_ERRORS = ['timeout', 'closed']
const WRITE_ERRORS = [...READ_ERRORS, 'outcome-unknown']

export class Writers {
  /** The number of writes without an outcome. */
  pending = 0
  #context
  #participant
  #random
  #values = 0
  #streams = 0
  #latest: Map<string, string> = new Map()

  constructor(context: ChaosContext, participant: ChaosClient, random: Random) {
    this.#context = context
    this.#participant = participant
    this.#random = random
  }

  performRequests() {
    const roll = this.#random.next()
    if (roll < 0.1) this.#stream()
    else if (roll < 0.2) this.#read()
    else for (let left = roll < 0.35 ? this.#random.int(2, 20) : 1; left > 0; left--) this.#writeOne()
  }

  #writeOne() {
    const random = this.#random
    // A few keys are hot, so that their watchers can miss changes.
    const key = random.chance(0.3) ? random.pick(this.#context.keys.slice(0, 10)) : random.pick(this.#context.keys)
    const handle = this.#participant.store.key(key, text)
    const timeoutOption = random.chance(0.2) ? { timeout: random.int(20, 400) } : {}
    const roll = random.next()
    if (roll < 0.08) {
      this.#run({ verb: 'DEL', key, value: '' }, handle.delete(timeoutOption))
      return
    }
    const mine = this.#latest.get(key)
    if (roll < 0.16 && mine !== undefined) {
      this.#run({ verb: 'VDEL', key, value: mine }, handle.deleteIf(mine, timeoutOption))
      return
    }
    if (roll < 0.2 && mine !== undefined) {
      this.#run({ verb: 'SET', key, value: mine }, handle.set(mine, { ...timeoutOption, ifAbsentOrEqual: true }))
      return
    }
    const value = this.#value()
    const options = { ...timeoutOption, ...this.#options() }
    this.#run({ verb: 'SET', key, value, expires: 'expiresIn' in options }, handle.set(value, options))
    // Long values would distort the measured heap.
    if (value.length < 100) this.#latest.set(key, value)
  }

  #options() {
    const roll = this.#random.next()
    if (roll < 0.12) return { ifAbsent: true }
    if (roll < 0.2) return { ifAbsentOrEqual: true }
    if (roll < 0.35) return { expiresIn: this.#random.int(20, MAX_LIFETIME_MS) }
    return {}
  }

  #value(stream = '') {
    const { name, incarnation } = this.#participant
    const padding = this.#random.chance(0.05) ? this.#random.int(1_000, 20_000) : this.#random.int(0, 60)
    return uniqueValue(`${name}.${incarnation}${stream}`, this.#values++, padding)
  }

  #run(write: Write, result$: Observable<SetResult | DeleteResult>) {
    this.#begin(1)
    let settled = false
    const settle = (outcome: Result) => {
      settled = true
      this.#finish(write, outcome)
    }
    const subscription = result$.subscribe({ next: settle, error: error => settle({ error }) })
    if (!settled && this.#random.chance(0.02)) {
      subscription.unsubscribe()
      this.#finish(write, undefined)
    }
  }

  /** Performs many writes through the operator, whose results must arrive in source order. */
  #stream() {
    // The stream has its own writer name, because its requests wait for each other while other requests overtake them.
    const stream = `s${this.#streams++}`
    const values = Array.from({ length: this.#random.int(5, 40) }, () => this.#value(stream))
    const keys = values.map(() => this.#random.pick(this.#context.keys))
    const [first = ''] = keys
    const single = this.#random.chance(0.5)
    const writes: Write[] = values.map((value, i) => ({ verb: 'SET', key: single ? first : (keys[i] ?? first), value }))
    const { store } = this.#participant
    const options = { concurrency: this.#random.int(1, 16), onError: 'emit' as const }
    this.#begin(writes.length)
    let results = 0
    const toValue = (write: Write) => write.value
    from(writes)
      .pipe(set(store, write => write.key, toValue, options))
      .subscribe({
        next: result => {
          const write = writes[results++]
          if (write) this.#finish(write, result)
        },
        error: error => this.#context.violations.add('operator error', error),
        complete: () => {
          if (results !== writes.length)
            this.#context.violations.add('operator', `${results} of ${writes.length} results`)
        },
      })
  }

  #read() {
    const { keys, tally, recorder } = this.#context
    const { store, name } = this.#participant
    const key = this.#random.pick(keys)
    tally.add('reads')
    store.get(key, text).subscribe({
      next: ({ op, value, version }) => {
        if (op === 'set')
          recorder.write({ type: 'read', client: name, key, value: nameOf(value), version: String(version) })
      },
      error: error => void this.#codeOf(error, READ_ERRORS),
    })
  }

  #begin(count: number) {
    this.pending += count
    this.#context.tally.add('writes', count)
  }

  /**
   * Records a write's result.
   *
   * @param result - result, or `undefined` for a cancelled write
   */
  #finish({ verb, key, value, expires = false }: Write, result: Result | undefined) {
    const { tally, recorder } = this.#context
    const outcome = this.#outcomeOf(result)
    const version = result && 'version' in result ? result.version?.toString() : undefined
    const name = value === '' ? '' : nameOf(value)
    this.pending--
    tally.add(`writes: ${outcome}`)
    const client = this.#participant.name
    recorder.write({ type: 'write', client, verb, key, value: name, outcome, version, expires, at: now() })
  }

  #outcomeOf(result: Result | undefined): string {
    if (result === undefined) return 'cancelled'
    if ('error' in result) return this.#codeOf(result.error, WRITE_ERRORS)
    const isApplied = 'applied' in result ? result.applied : result.deleted
    return isApplied ? 'applied' : 'refused'
  }

  /** Returns an error's code, which is a violation unless faults cause such errors. */
  #codeOf(error: unknown, expected: readonly string[]) {
    const { violations, unavailableCodes } = this.#context
    const code = error instanceof StateStoreError ? error.code : 'unknown'
    if (![...expected, ...unavailableCodes].includes(code)) violations.add('unexpected error of a request', error)
    return code
  }
}
