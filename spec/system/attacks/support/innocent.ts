import { AnsweringProgram } from '../../../support/running-program.js'

/** Measurements of a client. A round is a write and a read with both responses, and the notification. */
export interface Experience {
  readonly rounds: number
  /** The median duration of a round, in ms. */
  readonly median: number
  /** The 99th percentile of the durations, in ms. */
  readonly p99: number
  /** The longest duration in ms, including the round in progress. */
  readonly worst: number
  /** The longest delay of a process that was ready to run, in ms. It depends on the machine and not on the store. */
  readonly noise: number
  /** Lost, duplicate or foreign messages, and disconnections. */
  readonly complaints: readonly string[]
}

/** An innocent client in a separate process, which is killed at the end of the test. */
export class Innocent {
  readonly #program: AnsweringProgram

  private constructor(program: AnsweringProgram) {
    this.#program = program
  }

  static async start(path: string, url: string, id = 'innocent'): Promise<Innocent> {
    const { program } = await AnsweringProgram.launch(path, [url, id])
    return new Innocent(program)
  }

  /** Returns the measurements since the last call, after `rounds` more rounds or five seconds. */
  async experience(rounds: number): Promise<Experience> {
    return this.#program.ask(rounds)
  }
}
