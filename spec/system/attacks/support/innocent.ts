import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Program } from '../../../support/bundle.js'

/** What a client has lived through for a while. A round is a write, a read, both answers, and being told of the change. */
export interface Experience {
  readonly rounds: number
  /** ms, of a round */
  readonly median: number
  /** ms, which one round in a hundred takes longer than */
  readonly p99: number
  /** ms, of a round, or of the one that lasts still */
  readonly worst: number
  /** How long the machine let a process wait that had something to do, ms: no store can help that. */
  readonly noise: number
  /** What was lost, came twice, or was for somebody else; and that it was thrown out. */
  readonly complaints: readonly string[]
}

/** A client in a process of its own that does nothing wrong. */
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

  /** What it has lived through since it was asked last, after so many rounds more, or five seconds if they take longer. */
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
