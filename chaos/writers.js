import { StateStoreError, set, text } from 'rx-statestore'
import { from } from 'rxjs'
import { now } from './now.js'
import { nameOf, uniqueValue } from './values.js'

/** @typedef {{ verb: 'SET' | 'DEL' | 'VDEL', key: string, value: string, expires?: boolean }} Write */

/** Longest time to live, ms: so long after the last write nothing expires any more. */
export const LONGEST_LIFE = 2_000

/** How failed writes are counted; any other code is a violation. */
const FAILURES = /** @type {const} */ ({ timeout: 'timeout', 'outcome-unknown': 'unknown', closed: 'closed' })
/** Errors of reads that are no fault of the library in this weather. */
const READ_FAILURES = ['timeout', 'closed']

/** The reads and writes of one participant. */
export class Writers {
  /** Writes without an outcome. */
  pending = 0
  #world
  #participant
  #random
  #values = 0
  #streams = 0
  /** @type {Map<string, string>} */
  #latest = new Map()

  /**
   * @param {import('./participant.js').World} world
   * @param {import('./participant.js').Participant} participant
   * @param {import('./random.js').Random} random
   */
  constructor(world, participant, random) {
    this.#world = world
    this.#participant = participant
    this.#random = random
  }

  /** One write or read, or many at once. */
  act() {
    const dice = this.#random.next()
    if (dice < 0.1) this.#stream()
    else if (dice < 0.2) this.#read()
    else for (let left = dice < 0.35 ? this.#random.int(2, 20) : 1; left > 0; left--) this.#writeOne()
  }

  #writeOne() {
    const random = this.#random
    // A few keys are hot, so that their watchers have something to lose.
    const key = random.chance(0.3) ? random.pick(this.#world.keys.slice(0, 10)) : random.pick(this.#world.keys)
    const handle = this.#participant.store.key(key, text)
    const patience = random.chance(0.2) ? { timeout: random.int(20, 400) } : {}
    const dice = random.next()
    if (dice < 0.08) {
      this.#run({ verb: 'DEL', key, value: '' }, handle.delete(patience))
      return
    }
    const mine = this.#latest.get(key)
    if (dice < 0.16 && mine !== undefined) {
      this.#run({ verb: 'VDEL', key, value: mine }, handle.deleteIf(mine, patience))
      return
    }
    if (dice < 0.2 && mine !== undefined) {
      this.#run({ verb: 'SET', key, value: mine }, handle.set(mine, { ...patience, ifAbsentOrEqual: true }))
      return
    }
    const value = this.#value()
    const options = { ...patience, ...this.#options() }
    this.#run({ verb: 'SET', key, value, expires: 'expiresIn' in options }, handle.set(value, options))
    // Not the long ones: it is not the heap of this test that is measured.
    if (value.length < 100) this.#latest.set(key, value)
  }

  #options() {
    const dice = this.#random.next()
    if (dice < 0.12) return { ifAbsent: true }
    if (dice < 0.2) return { ifAbsentOrEqual: true }
    if (dice < 0.35) return { expiresIn: this.#random.int(20, LONGEST_LIFE) }
    return {}
  }

  #value(stream = '') {
    const { name, life } = this.#participant
    const padding = this.#random.chance(0.05) ? this.#random.int(1_000, 20_000) : this.#random.int(0, 60)
    return uniqueValue(`${name}.${life}${stream}`, this.#values++, padding)
  }

  /**
   * @param {Write} write
   * @param {import('rxjs').Observable<import('rx-statestore').SetResult | import('rx-statestore').DeleteResult>} result$
   */
  #run(write, result$) {
    this.#begin(1)
    let settled = false
    /** @param {Outcome} outcome */
    const settle = outcome => {
      settled = true
      this.#finish(write, outcome)
    }
    const subscription = result$.subscribe({ next: settle, error: error => settle({ error }) })
    if (!settled && this.#random.chance(0.02)) {
      subscription.unsubscribe()
      this.#finish(write, undefined)
    }
  }

  /** Many writes by the operator, whose results come in the order of the source. */
  #stream() {
    // A writer of its own, as its requests wait for one another while others overtake them.
    const stream = `s${this.#streams++}`
    const values = Array.from({ length: this.#random.int(5, 40) }, () => this.#value(stream))
    const keys = values.map(() => this.#random.pick(this.#world.keys))
    const [first = ''] = keys
    const single = this.#random.chance(0.5)
    /** @type {Write[]} */
    const writes = values.map((value, i) => ({ verb: 'SET', key: single ? first : (keys[i] ?? first), value }))
    const { store } = this.#participant
    const options = { concurrency: this.#random.int(1, 16), onError: /** @type {const} */ ('emit') }
    this.#begin(writes.length)
    let results = 0
    const toValue = (/** @type {Write} */ write) => write.value
    from(writes)
      .pipe(set(store, write => write.key, toValue, options))
      .subscribe({
        next: result => this.#finish(/** @type {Write} */ (writes[results++]), result),
        error: error => this.#world.complaints.add('operator error', error),
        complete: () => {
          if (results !== writes.length)
            this.#world.complaints.add('operator', `${results} of ${writes.length} results`)
        },
      })
  }

  #read() {
    const key = this.#random.pick(this.#world.keys)
    this.#world.counts.reads++
    this.#participant.store.get(key, text).subscribe({
      next: ({ op, value, version }) =>
        op === 'set' && this.#world.recorder.write(['read', this.#participant.name, key, nameOf(value), version]),
      error: error => {
        const code = this.#codeOf(error)
        if (!READ_FAILURES.includes(code ?? '') && !this.#isAbsence(code)) this.#unexpected(error)
      },
    })
  }

  /** @param {number} count */
  #begin(count) {
    this.pending += count
    this.#world.counts.tried += count
  }

  /**
   * @typedef {import('rx-statestore').SetResult | import('rx-statestore').DeleteResult | { error: unknown }} Outcome
   * @param {Write} write
   * @param {Outcome | undefined} outcome - none of a write that was cancelled
   */
  #finish({ verb, key, value, expires = false }, outcome) {
    this.pending--
    const word = this.#wordOf(outcome)
    this.#world.counts[word]++
    const version = outcome && 'version' in outcome ? outcome.version : undefined
    const name = value === '' ? '' : nameOf(value)
    this.#world.recorder.write(['write', this.#participant.name, verb, key, name, word, version, expires, now()])
  }

  /** @param {Outcome | undefined} outcome */
  #wordOf(outcome) {
    if (outcome === undefined) return 'cancelled'
    if ('applied' in outcome) return outcome.applied ? 'applied' : 'refused'
    if ('deleted' in outcome) return outcome.deleted ? 'applied' : 'refused'
    const code = this.#codeOf(outcome.error)
    if (code === 'timeout' || code === 'outcome-unknown' || code === 'closed') return FAILURES[code]
    if (this.#isAbsence(code)) return 'absent'
    this.#unexpected(outcome.error)
    return 'unknown'
  }

  /** A store that is part of its broker, and alone, is never away. @param {string | undefined} code */
  #isAbsence(code) {
    return this.#world.absences.includes(code ?? '')
  }

  /** @param {unknown} error */
  #codeOf(error) {
    return error instanceof StateStoreError ? error.code : undefined
  }

  /** @param {unknown} error */
  #unexpected(error) {
    this.#world.complaints.add('unexpected error of a request', error)
  }
}
