import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Program } from '../../../support/bundle.js'

/** Measurements of a client. A round is a write, a read, both responses and the notification. */
export interface Experience {
  readonly rounds: number
  /** ms, of a round */
  readonly median: number
  /** ms, which one round in a hundred takes longer than */
  readonly p99: number
  /** ms, of a round, or of the one that lasts still */
  readonly worst: number
  /** How long the machine delayed a runnable process, ms, which no store can influence. */
  readonly noise: number
  /** Lost, duplicate or foreign messages, and disconnections. */
  readonly complaints: readonly string[]
}

/** An innocent client in its own process. */
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

  /** Returns the measurements since the last call after `rounds` more rounds, or after five seconds. */
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
