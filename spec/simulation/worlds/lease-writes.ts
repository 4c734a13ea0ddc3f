import type { History } from '../../../harness/judges/history.js'
import { type Hlc, StateStoreError, text } from '../../../src/client/index.js'
import { fenced } from '../../../src/client/lease/index.js'
import { type Claimant, type LeaseOracle, tokenOf } from './lease-oracle.js'

const PROTECTED = 'protected'

interface FencedWrite {
  readonly value: string
  readonly version: string | undefined
  readonly outcome: string
}

export class LeaseWrites {
  readonly #oracle: LeaseOracle
  readonly #history: History
  readonly #complain: (what: string) => void
  readonly #done: FencedWrite[] = []
  #count = 0

  constructor(oracle: LeaseOracle, history: History, complain: (what: string) => void) {
    this.#oracle = oracle
    this.#history = history
    this.#complain = complain
  }

  /** Writes once with the current or an old token. */
  write(candidate: Claimant, token: Hlc): void {
    const value = `${this.#count++} ${candidate.name} ${token}`
    const since = this.#oracle.beliefOf(candidate)?.since
    const end = (outcome: string, version?: string): void => void this.#done.push({ value, outcome, version })
    fenced(candidate.client.store, token)
      .key(PROTECTED, text)
      .set(value)
      .subscribe({
        next: ({ version }) => end('applied', String(version)),
        error: error => {
          const code = error instanceof StateStoreError ? error.code : String(error)
          end(code)
          if (code === 'fencing-token-stale') this.#judgeRefusal(candidate, token, since)
          else if (!['timeout', 'outcome-unknown', 'closed'].includes(code)) this.#complain(`a write failed: ${code}`)
        },
      })
  }

  /** Looks up every write in the history, and checks the order of their tokens. */
  judge(): void {
    const { all } = this.#history
    for (const { value, outcome, version } of this.#done) {
      const applied = all.filter(change => change.value === value)
      const maxApplied = outcome === 'applied' || outcome === 'outcome-unknown' ? 1 : 0
      if (applied.length > maxApplied || (outcome === 'applied' && applied[0]?.version !== version))
        this.#complain(`write ${value} ended as ${outcome}, but was applied ${applied.length} times`)
    }
    const newest = new Map<number, Hlc>()
    for (const { key, value, instance } of all) {
      if (key !== PROTECTED || value === undefined) continue
      const [token, before] = [tokenOf(value), newest.get(instance)]
      if (before && token.compareTo(before) < 0) this.#complain(`${value} was written after ${before} had been used`)
      newest.set(instance, token)
    }
  }

  /**
   * Excludes a token from before a data loss that was used after the loss and is newer than the tokens that the store
   * now assigns.
   */
  #isOvertakenFromBefore(token: Hlc): boolean {
    const { all, instance } = this.#history
    const used = all.filter(
      change => change.key === PROTECTED && change.instance === instance && change.value !== undefined,
    )
    return used.some(({ value = '' }) => {
      const position = this.#history.positionOf(String(tokenOf(value)))
      return position !== undefined && all[position]?.instance !== instance && tokenOf(value).compareTo(token) > 0
    })
  }

  /**
   * Checks a rejected write. A candidate that held the lease from before the write until after the response may write,
   * unless the key was deleted by force.
   */
  #judgeRefusal(candidate: Claimant, token: Hlc, since: number | undefined): void {
    const belief = this.#oracle.beliefOf(candidate)
    if (belief === undefined || belief.since !== since || belief.token.compareTo(token) !== 0) return
    if (this.#oracle.isHolding(candidate) && !this.#oracle.isDisturbed && !this.#isOvertakenFromBefore(token))
      this.#complain(`${candidate.name} holds the lease by ${token}, but its write was rejected`)
  }
}
