import type { DeleteResult, SetResult } from 'rx-statestore'
import { StateStoreError, set, text } from 'rx-statestore'
import type { Observable } from 'rxjs'
import { from } from 'rxjs'
import { now } from './now.js'
import type { ChaosContext, Participant } from './participant.js'
import type { Random } from './random.js'
import { nameOf, uniqueValue } from './values.js'

export type Verb = 'SET' | 'DEL' | 'VDEL'
export type Outcome = 'applied' | 'refused' | 'timeout' | 'absent' | 'closed' | 'unknown' | 'cancelled'
type Write = { verb: Verb; key: string; value: string; expires?: boolean }
type Result = SetResult | DeleteResult | { error: unknown }

/** The maximum time to live in ms. No key expires later than this time after the last write. */
export const MAX_LIFETIME_MS = 2_000

/** The counter of each error code of failed writes. Any other code is a violation. */
const FAILURES = { timeout: 'timeout', 'outcome-unknown': 'unknown', closed: 'closed' } as const
/** The codes of read errors that are expected under faults. */
const READ_FAILURES = ['timeout', 'closed']

export class Writers {
  /** The number of writes without an outcome. */
  pending = 0
  #context
  #participant
  #random
  #values = 0
  #streams = 0
  #latest: Map<string, string> = new Map()

  constructor(context: ChaosContext, participant: Participant, random: Random) {
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
    const key = this.#random.pick(this.#context.keys)
    this.#context.counts.reads++
    this.#participant.store.get(key, text).subscribe({
      next: ({ op, value, version }) =>
        op === 'set' &&
        this.#context.recorder.write(['read', this.#participant.name, key, nameOf(value), version?.toString()]),
      error: error => {
        const code = this.#codeOf(error)
        if (!READ_FAILURES.includes(code ?? '') && !this.#isAbsence(code)) this.#reportUnexpected(error)
      },
    })
  }

  #begin(count: number) {
    this.pending += count
    this.#context.counts.tried += count
  }

  /**
   * Records the outcome of a write.
   *
   * @param outcome - outcome, or `undefined` for a cancelled write
   */
  #finish({ verb, key, value, expires = false }: Write, outcome: Result | undefined) {
    this.pending--
    const word = this.#outcomeOf(outcome)
    this.#context.counts[word]++
    const version = outcome && 'version' in outcome ? outcome.version?.toString() : undefined
    const name = value === '' ? '' : nameOf(value)
    this.#context.recorder.write(['write', this.#participant.name, verb, key, name, word, version, expires, now()])
  }

  #outcomeOf(outcome: Result | undefined): Outcome {
    if (outcome === undefined) return 'cancelled'
    if ('applied' in outcome) return outcome.applied ? 'applied' : 'refused'
    if ('deleted' in outcome) return outcome.deleted ? 'applied' : 'refused'
    const code = this.#codeOf(outcome.error)
    if (code === 'timeout' || code === 'outcome-unknown' || code === 'closed') return FAILURES[code]
    if (this.#isAbsence(code)) return 'absent'
    this.#reportUnexpected(outcome.error)
    return 'unknown'
  }

  /**
   * Returns whether an error code means that the store is unavailable. A single store with the built-in broker is
   * always available.
   */
  #isAbsence(code: string | undefined) {
    return this.#context.unavailableCodes.includes(code ?? '')
  }

  #codeOf(error: unknown) {
    return error instanceof StateStoreError ? error.code : undefined
  }

  #reportUnexpected(error: unknown) {
    this.#context.violations.add('unexpected error of a request', error)
  }
}
