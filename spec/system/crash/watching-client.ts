import { filter, firstValueFrom, from, Subject, startWith, timeout } from 'rxjs'
import { connect, type Entry, type StateStore, text } from '../../../src/client/index.js'
import { compareState } from '../../judges/convergence.js'
import { isNewer } from '../../support/version.js'

/** The content of a key according to a read. */
export interface Held {
  readonly value: string | undefined
  readonly version: string | undefined
}

/** The time within which a watch must agree with the store, in ms. */
const AGREEMENT_TIMEOUT_MS = 20_000

/** A client that watches keys across all processes and reconnects to each of them. */
export class WatchingClient {
  readonly #store: StateStore
  readonly #last = new Map<string, Entry<string>>()
  readonly #newest = new Map<string, string>()
  readonly #violations: string[] = []
  readonly #changed$ = new Subject<void>()
  entries = 0

  constructor(url: string, keys: readonly string[]) {
    this.#store = connect(url, { clientId: 'watch', sessionExpiry: 0, reconnect: { initial: 10, max: 50 } })
    this.#store.watchAll(from([keys]), text).subscribe(entry => this.#record(entry))
  }

  lastSeen(key: string): string | undefined {
    return this.#last.get(key)?.value
  }

  /** Returns descriptions of all violations once the watch must agree with the store. */
  async findViolations(held: ReadonlyMap<string, Held>): Promise<string[]> {
    const agrees$ = this.#changed$.pipe(
      startWith(undefined),
      filter(() => this.#differences(held).length === 0),
      timeout(AGREEMENT_TIMEOUT_MS),
    )
    await firstValueFrom(agrees$).catch(() => this.#violations.push(...this.#differences(held)))
    return this.#violations.splice(0)
  }

  async close(): Promise<void> {
    await this.#store.close()
  }

  #differences(held: ReadonlyMap<string, Held>): string[] {
    return Array.from(held).flatMap(([key, { value, version }]) => {
      const stored = { op: value === undefined ? 'absent' : 'set', value, version }
      const difference = compareState(this.#last.get(key), stored)
      return difference === undefined ? [] : [`a watch of ${key} ${difference}`]
    })
  }

  #record(entry: Entry<string>): void {
    const { key, op, value } = entry
    const version = entry.version?.toString()
    const newest = this.#newest.get(key)
    this.entries++
    if (version !== undefined) {
      if (newest !== undefined && !isNewer(version, newest))
        this.#violations.push(`a watch of ${key} showed ${op} ${value} with ${version} after ${newest}`)
      this.#newest.set(key, version)
    }
    this.#last.set(key, entry)
    this.#changed$.next()
  }
}
