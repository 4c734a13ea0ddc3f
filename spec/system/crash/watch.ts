import { filter, firstValueFrom, from, Subject, startWith, timeout } from 'rxjs'
import { connect, type Entry, type StateStore, text } from '../../../src/client/index.js'
import { isNewer } from '../../support/version.js'

/** What a key holds, by a read. */
export interface Held {
  readonly value: string | undefined
  readonly version: string | undefined
}

/** A watch may take so long to agree with the store, ms. */
const PATIENCE = 20_000

/** A client that watches keys from the first process to the last, and finds the way back to each by itself. */
export class Watch {
  readonly #store: StateStore
  readonly #last = new Map<string, Entry<string>>()
  readonly #newest = new Map<string, string>()
  readonly #complaints: string[] = []
  readonly #changed$ = new Subject<void>()
  entries = 0

  constructor(url: string, keys: readonly string[]) {
    this.#store = connect(url, { clientId: 'watch', sessionExpiry: 0, reconnect: { initial: 10, max: 50 } })
    this.#store.watchAll(from([keys]), text).subscribe(entry => this.#take(entry))
  }

  /** The last value that was seen of a key. */
  seen(key: string): string | undefined {
    return this.#last.get(key)?.value
  }

  /** What is not as it has to be, in words, once it is to agree with what the store holds. */
  async judge(held: ReadonlyMap<string, Held>): Promise<string[]> {
    const agrees$ = this.#changed$.pipe(
      startWith(undefined),
      filter(() => this.#differences(held).length === 0),
      timeout(PATIENCE),
    )
    await firstValueFrom(agrees$).catch(() => this.#complaints.push(...this.#differences(held)))
    return this.#complaints.splice(0)
  }

  async close(): Promise<void> {
    await this.#store.close()
  }

  #differences(held: ReadonlyMap<string, Held>): string[] {
    return Array.from(held).flatMap(([key, { value, version }]) => {
      const last = this.#last.get(key)
      const agrees = last?.value === value && (value === undefined || String(last?.version) === version)
      return agrees && last !== undefined ? [] : [`a watch of ${key} shows ${last?.value}, the store has ${value}`]
    })
  }

  #take(entry: Entry<string>): void {
    const { key, op, value } = entry
    const version = entry.version?.toString()
    const newest = this.#newest.get(key)
    this.entries++
    if (version !== undefined) {
      if (newest !== undefined && !isNewer(version, newest))
        this.#complaints.push(`a watch of ${key} was told ${op} ${value} with ${version} after ${newest}`)
      this.#newest.set(key, version)
    }
    this.#last.set(key, entry)
    this.#changed$.next()
  }
}
