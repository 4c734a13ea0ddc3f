import { expect } from 'vitest'
import { type Entry, type Hlc, number, type StateStore } from '../../src/client/index.js'
import { openClient, type Recording, record } from './open-client.js'

/** A client that counts one key up as fast as the store responds. */
class Counter {
  /** The last acknowledged value, with its version. */
  answered = 0
  last = 0
  answers = 0
  stopped = false
  readonly #client: StateStore
  readonly #key: string
  readonly versions: Hlc[] = []

  constructor(client: StateStore, key: string) {
    this.#client = client
    this.#key = key
  }

  async run(answered: () => void): Promise<void> {
    while (!this.stopped) {
      const value = ++this.last
      try {
        const { version } = await this.#client.key(this.#key, number).set(value, { timeout: 10_000 })
        this.answered = value
        if (version) this.versions.push(version)
        answered()
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^(timeout|outcome-unknown|no-store)$/) })
      }
    }
  }
}

const valuesOf = ({ values }: Recording<Entry<number>>): number[] => values.flatMap(({ value }) => value ?? [])
/** Returns whether no version is older than an earlier one. As text, the counter 10 would sort before 9. */
const areInOrder = (versions: readonly Hlc[]): boolean =>
  versions.every((version, i) => version.compareTo(versions[i - 1] ?? version) >= 0)
const isRising = (values: readonly number[]): boolean =>
  values.every((value, i) => i === 0 || value > (values[i - 1] ?? 0))

/**
 * Clients that count keys up while everything around them is stopped and restarted, and one client that watches the
 * keys.
 */
export class Counters {
  readonly #counters: readonly Counter[]
  readonly #seen: readonly Recording<Entry<number>>[]
  readonly #watcher: StateStore
  readonly #runs: Promise<unknown>
  #heard = 0
  #wake: () => void = () => undefined

  /** @param writers - the number of keys, each with a separate client */
  constructor(url: string, writers: number) {
    this.#counters = Array.from({ length: writers }, (_, i) => new Counter(openClient(url), `k${i}`))
    this.#watcher = openClient(url)
    this.#seen = this.#counters.map((_, i) => record(this.#watcher.key(`k${i}`, number).entries$))
    this.#runs = Promise.all(this.#counters.map(async counter => counter.run(() => this.#answered())))
  }

  /** Resolves after `count` further acknowledged writes. */
  async answers(count: number): Promise<void> {
    const wanted = this.#heard + count
    while (this.#heard < wanted) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  /** Stops the writers, and checks every guarantee. */
  async verify(): Promise<void> {
    for (const counter of this.#counters) counter.stopped = true
    await this.#runs
    const keys = this.#counters.map((_, i) => this.#watcher.key(`k${i}`, number))
    const truth = await Promise.all(keys.map(async key => (await key.get()).value))
    for (const [i, seen] of this.#seen.entries()) await seen.until(found => valuesOf(found).at(-1) === truth[i])
    for (const [i, { answered, last, versions }] of this.#counters.entries()) {
      expect(truth[i], `k${i}: every acknowledged write is present`).toBeGreaterThanOrEqual(answered)
      expect(truth[i], `k${i}: no unsent value is present`).toBeLessThanOrEqual(last)
      expect(areInOrder(versions), `k${i}: versions rise`).toBe(true)
      const seen = this.#seen[i]
      expect(seen && isRising(valuesOf(seen)), `k${i}: the watch never goes backwards`).toBe(true)
    }
  }

  #answered(): void {
    this.#heard++
    this.#wake()
  }
}
