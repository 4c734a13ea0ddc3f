import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { bundle, type Program } from '../../../support/bundle.js'
import { type Experience, Innocent } from './innocent.js'

/** How much longer a round may take beside an attack than in peace. */
const MAX_FACTOR = 3
/** Of a round in peace, ms: less than this is the machine's mood. */
const MIN_QUIET_MS = 10
/** Of a round: to the store, back, and to the store again. */
const STEPS = 3

let program: Program | undefined

/** To be called once in a file: builds what the process of an innocent client runs. */
export function prepareInnocents(): void {
  beforeAll(async () => {
    program = await bundle(new URL('innocent-process.ts', import.meta.url))
  })
  afterAll(async () => program?.[Symbol.asyncDispose]())
}

/** An innocent client at any broker that has a store, and what its rounds take in peace. */
export class Bystander {
  readonly #innocent: Innocent
  readonly #quiet: Experience
  readonly #rounds: number

  private constructor(innocent: Innocent, quiet: Experience, rounds: number) {
    this.#innocent = innocent
    this.#quiet = quiet
    this.#rounds = rounds
  }

  static async start(url: string, rounds = 100): Promise<Bystander> {
    if (program === undefined) throw new Error('prepareInnocents() was not called')
    const innocent = await Innocent.start(program, url)
    onTestFinished(async () => innocent[Symbol.asyncDispose]())
    // Code that runs for the first time is slow.
    await innocent.experience(rounds)
    return new Bystander(innocent, await innocent.experience(rounds), rounds)
  }

  /** What it has lived through since it was asked last. */
  async experience(rounds = this.#rounds): Promise<Experience> {
    return this.#innocent.experience(rounds)
  }

  /** Nothing is lost for it, and its rounds take at most three times as long as in peace. */
  async expectUnharmed(): Promise<void> {
    const { p99, noise, complaints } = await this.experience()
    const quiet = Math.max(this.#quiet.p99, MIN_QUIET_MS)
    const words = `p99 ${p99.toFixed(1)} ms, quiet ${this.#quiet.p99.toFixed(1)} ms, noise ${noise.toFixed(0)} ms`
    if (process.env['FIGURES']) console.info(words)
    const isStarved = p99 > MAX_FACTOR * quiet + STEPS * noise
    expect({ complaints, isStarved }, words).toEqual({ complaints: [], isStarved: false })
  }

  /** Nothing is lost for it, however long that took. What it had may come again: a broker delivers at least once. */
  async expectNothingLost(): Promise<void> {
    const { rounds, complaints } = await this.experience()
    expect(complaints.filter(words => !/^in round \d+ came /.test(words))).toEqual([])
    expect(rounds).toBeGreaterThanOrEqual(this.#rounds)
  }
}
