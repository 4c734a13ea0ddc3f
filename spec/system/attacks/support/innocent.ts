import { expect } from 'vitest'
import { bundledProgram } from '../../../support/bundle.js'
import { AnsweringProgram } from '../../../support/running-program.js'
import { cpuShare, type Work, workSoFar } from './work.js'

/** The maximum factor by which an attack may raise the median and the 99th percentile of the durations. */
const MAX_SLOWDOWN = 3
/** The durations in ms below which rounds are within the machine's noise. */
const MIN_QUIET = { p50: 1, p99: 10 }
/** The steps of a round: to the server, back, and to the server again. The machine may delay each of them. */
const STEPS = 3
/**
 * The delay of a ready process before an attack in ms from which the machine is too busy for a 99th percentile, so the
 * median decides. The attack itself causes delays as well.
 */
const BUSY_MS = 20
/** The share of its CPU time from which a server can be judged by durations. With less, its pauses hide all else. */
const MIN_SHARE = 0.25
/** The share of its CPU time from which a server can be judged by a 99th percentile, which its longest pauses decide. */
const MIN_P99_SHARE = 0.5
/** The number of rounds that warm up the code, and the number after an attack. */
const ROUNDS = 20
/** The number of rounds for a 99th percentile, or to observe that nothing happens. */
const MANY_ROUNDS = 100
/** The time in ms after which rounds that do not end are reported. */
const REPORT_TIMEOUT_MS = 5_000

/** The rounds after which a client reports its measurements. */
export interface RoundRequest {
  readonly rounds: number
  /** The time in ms after which the client reports fewer rounds. By default, there is none. */
  readonly timeoutMs?: number
}

/** A client's judgement after an attack. */
export interface RoundLimits {
  /** The number of rounds to observe after the attack, for five seconds at most. Default 20. */
  readonly rounds?: number
  /** The maximum duration of a round, in ms. Default 1 s: the failures that the specs look for take much longer. */
  readonly maxRoundMs?: number
}

/** A distribution of durations, in ms. */
interface Distribution {
  readonly p50: number
  readonly p99: number
  readonly worst: number
}

/** Measurements of a client's rounds. */
export interface Experience {
  readonly rounds: number
  /** The durations of the rounds, including the round in progress. */
  readonly durations: Distribution
  /** The delays of a process that was ready to run, which depend on the machine and not on the server. */
  readonly noise: Pick<Distribution, 'p50' | 'worst'>
  /** Lost, duplicate or foreign messages, and disconnections. */
  readonly complaints: readonly string[]
}

const ENDLESS: Distribution = { p50: Infinity, p99: Infinity, worst: Infinity }
const NOT_MEASURED: Pick<Experience, 'durations' | 'noise'> = { durations: ENDLESS, noise: ENDLESS }

const describe = ({ p50, p99, worst }: Distribution): string =>
  `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, worst ${worst.toFixed(0)} ms`

/**
 * Builds the program of a client of a store. Must be called once per file. Returns a function that starts the client. By
 * default, the store runs in this process.
 */
export function preparedInnocent(): (url: string, workOfServer?: () => Promise<Work>) => Promise<Innocent> {
  const path = bundledProgram(new URL('innocent-process.ts', import.meta.url))
  return async (url, workOfServer = async () => workSoFar()) =>
    Innocent.start((await AnsweringProgram.launch(path(), [url])).program, workOfServer)
}

/** An innocent client of a store or a hub, in a separate process. */
export class Innocent {
  readonly #program: AnsweringProgram
  readonly #workOfServer: () => Promise<Work>
  #quiet: Experience | undefined
  #workBefore: Work

  private constructor(program: AnsweringProgram, workOfServer: () => Promise<Work>, workBefore: Work) {
    this.#program = program
    this.#workOfServer = workOfServer
    this.#workBefore = workBefore
  }

  /**
   * Waits until the client of a program is warm.
   *
   * @param workOfServer - returns the work so far of the process that serves the client
   */
  static async start(program: AnsweringProgram, workOfServer: () => Promise<Work>): Promise<Innocent> {
    const innocent = new Innocent(program, workOfServer, await workOfServer())
    // The first rounds warm up the code, which is slow on its first run.
    await innocent.expectEachOnce(ROUNDS)
    return innocent
  }

  /** Returns the measurements since the last call, after `rounds` more rounds or five seconds. */
  async experience(rounds: number): Promise<Experience> {
    return this.#report({ rounds, timeoutMs: REPORT_TIMEOUT_MS })
  }

  /** Measures the durations once, without an attack, so that {@link expectUnharmed} compares them. */
  async measureQuiet(): Promise<void> {
    this.#quiet ??= await this.#report({ rounds: MANY_ROUNDS })
    expect(this.#quiet.complaints).toEqual([])
    this.#workBefore = await this.#workOfServer()
  }

  /** Checks that the client lost nothing and was neither starved nor slowed down. Returns the measurements in words. */
  async expectUnharmed({ rounds = ROUNDS, maxRoundMs = 1_000 }: RoundLimits = {}): Promise<string> {
    const { rounds: done, durations, noise, complaints } = await this.experience(rounds)
    const work = await this.#workOfServer()
    // A server that other programs keep from running is slow without any attack.
    const share = cpuShare(this.#workBefore, work)
    this.#workBefore = work
    const { durations: quiet, noise: quietNoise } = this.#quiet ?? NOT_MEASURED
    const late = `noise before: worst ${quietNoise.worst.toFixed(0)}, during: p50 ${noise.p50.toFixed(1)}, worst ${noise.worst.toFixed(0)} ms`
    const words = `${done} rounds: ${describe(durations)}; before: ${describe(quiet)}; ${late}; server: ${(100 * share).toFixed(0)} % of its CPU`
    const isStarved = share * durations.worst > maxRoundMs + STEPS * noise.worst
    const limit = (at: 'p50' | 'p99', late: number): number =>
      MAX_SLOWDOWN * Math.max(quiet[at], MIN_QUIET[at]) + STEPS * late
    const isP99Judged = quietNoise.worst < BUSY_MS && share > MIN_P99_SHARE
    const isSlowed =
      share > MIN_SHARE &&
      (share * durations.p50 > limit('p50', noise.p50) ||
        (isP99Judged && share * durations.p99 > limit('p99', noise.worst)))
    expect({ complaints, isStarved, isSlowed }, words).toEqual({ complaints: [], isStarved: false, isSlowed: false })
    return words
  }

  /** Checks that the client gets each message once, regardless of the durations. */
  async expectEachOnce(rounds = MANY_ROUNDS): Promise<void> {
    expect((await this.#report({ rounds })).complaints).toEqual([])
  }

  /** Checks that the client gets each message at least once, regardless of the durations. */
  async expectNothingLost(): Promise<void> {
    const { complaints } = await this.#report({ rounds: MANY_ROUNDS })
    expect(complaints.filter(words => !/^in round \d+ came /.test(words))).toEqual([])
  }

  async #report(request: RoundRequest): Promise<Experience> {
    return this.#program.ask({ ...request })
  }
}
