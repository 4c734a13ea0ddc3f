import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Program } from '../../../support/bundle.js'

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

/** An innocent client in a separate process. */
export class Innocent implements AsyncDisposable {
  readonly #process: ChildProcess

  private constructor(child: ChildProcess) {
    this.#process = child
  }

  static async start({ path }: Program, url: string, id = 'innocent'): Promise<Innocent> {
    const child = fork(path, [url, id], { execArgv: [], env: { PATH: process.env['PATH'] } })
    await once(child, 'message')
    return new Innocent(child)
  }

  /** Returns the measurements since the last call, after `rounds` more rounds or five seconds. */
  async experience(rounds: number): Promise<Experience> {
    const answer = once(this.#process, 'message')
    this.#process.send(rounds)
    const [value] = await answer
    return value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.disconnect()
    await ended
  }
}
