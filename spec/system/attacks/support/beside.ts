import { expect } from 'vitest'
import { bundledProgram } from '../../../support/bundle.js'
import { type Experience, Innocent } from './innocent.js'

/** The permitted factor between the durations of rounds during an attack and before it. */
const MAX_FACTOR = 3
/** The duration in ms below which rounds are within the noise of the machine. */
const MIN_QUIET_MS = 10
/** The steps of a round: to the store, back, and to the store again. */
const STEPS = 3

let programPath = (): string => {
  throw new Error('prepareInnocents() was not called')
}

/** Builds the child program. Must be called once per file. */
export function prepareInnocents(): void {
  programPath = bundledProgram(new URL('innocent-process.ts', import.meta.url))
}

/** An innocent client at any broker with a store, which knows the durations of its rounds before the attack. */
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
    const innocent = await Innocent.start(programPath(), url)
    // The first rounds warm up the code, which is slow on its first run.
    await innocent.experience(rounds)
    return new Bystander(innocent, await innocent.experience(rounds), rounds)
  }

  /** Returns the measurements since the last call. */
  async experience(rounds = this.#rounds): Promise<Experience> {
    return this.#innocent.experience(rounds)
  }

  /** Checks that the client lost nothing and that its rounds take at most three times as long as before. */
  async expectUnharmed(): Promise<void> {
    const { p99, noise, complaints } = await this.experience()
    const quiet = Math.max(this.#quiet.p99, MIN_QUIET_MS)
    const words = `p99 ${p99.toFixed(1)} ms, quiet ${this.#quiet.p99.toFixed(1)} ms, noise ${noise.toFixed(0)} ms`
    if (process.env['FIGURES']) console.info(words)
    const isStarved = p99 > MAX_FACTOR * quiet + STEPS * noise
    expect({ complaints, isStarved }, words).toEqual({ complaints: [], isStarved: false })
  }

  /**
   * Checks that the client lost nothing, regardless of the durations. Duplicates are permitted, as delivery is at least
   * once.
   */
  async expectNothingLost(): Promise<void> {
    const { rounds, complaints } = await this.experience()
    expect(complaints.filter(words => !/^in round \d+ came /.test(words))).toEqual([])
    expect(rounds).toBeGreaterThanOrEqual(this.#rounds)
  }
}
