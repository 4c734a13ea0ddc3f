import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Entry, number, type StateStore } from '../../src/index.js'
import { Random } from '../simulation/random.js'
import { AttachedProcess } from '../support/attached-process.js'
import { Mosquitto } from '../support/mosquitto.js'
import { openClient, type Recording, record } from '../support/open-client.js'
import { SERVICES } from '../support/services.js'

const WRITERS = 6
const ROUNDS = 8
/** Answers between two disasters, at least. */
const ANSWERS = 60

/** Counts one key up, as fast as the store answers. */
class Counter {
  /** The last value that was answered, with its version. */
  answered = 0
  last = 0
  answers = 0
  stopped = false
  readonly #client: StateStore
  readonly #key: string
  readonly versions: string[] = []

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
        this.versions.push(String(version))
        answered()
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^(timeout|outcome-unknown|no-store)$/) })
      }
    }
  }
}

const valuesOf = ({ values }: Recording<Entry<number>>): number[] => values.flatMap(({ value }) => value ?? [])
const isRising = (values: readonly number[]): boolean =>
  values.every((value, i) => i === 0 || value > (values[i - 1] ?? 0))

describe.skipIf(!SERVICES.mosquitto.present)(
  'a store with a directory, attached to Mosquitto, both killed again and again',
  () => {
    it('loses nothing that was answered, does nothing twice, and watches converge', async () => {
      const seed = Math.floor(Math.random() * 2 ** 32)
      console.info(`seed ${seed}`)
      const random = new Random(seed)
      const data = await mkdtemp(join(tmpdir(), 'attached-'))
      let broker = await Mosquitto.start()
      onTestFinished(async () => broker.stop())
      let store = new AttachedProcess(broker.url, data)
      await store.until('serving')
      const counters = Array.from({ length: WRITERS }, (_, i) => new Counter(openClient(broker.url), `k${i}`))
      const watcher = openClient(broker.url)
      const seen = counters.map((_, i) => record(watcher.key(`k${i}`, number).entries$))
      let heard = 0
      let wake: () => void = () => undefined
      const runs = counters.map(async counter =>
        counter.run(() => {
          heard++
          wake()
        }),
      )
      const answers = async (count: number): Promise<void> => {
        const wanted = heard + count
        while (heard < wanted) {
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      }
      for (let round = 0; round < ROUNDS; round++) {
        await answers(ANSWERS + random.int(0, ANSWERS))
        const kind = random.int(0, 2)
        const ends = [kind !== 1 && store.end('SIGKILL'), kind !== 0 && broker.stop('SIGKILL')]
        await Promise.all(ends)
        if (kind !== 0) broker = await Mosquitto.start({ port: broker.port })
        if (kind !== 1) store = new AttachedProcess(broker.url, data)
      }
      await answers(ANSWERS)
      for (const counter of counters) counter.stopped = true
      await Promise.all(runs)
      const truth = await Promise.all(counters.map(async (_, i) => (await watcher.key(`k${i}`, number).get()).value))
      for (const [i, recording] of seen.entries()) await recording.until(found => valuesOf(found).at(-1) === truth[i])
      for (const [i, { answered, last, versions }] of counters.entries()) {
        expect(truth[i], `k${i}: what was answered is there`).toBeGreaterThanOrEqual(answered)
        expect(truth[i], `k${i}: nothing is there that was not sent`).toBeLessThanOrEqual(last)
        expect(versions, `k${i}: versions rise`).toEqual([...versions].sort())
        const recording = seen[i]
        expect(recording && isRising(valuesOf(recording)), `k${i}: the watch does not travel in time`).toBe(true)
      }
    }, 120_000)
  },
)
