import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const FOLDER = new URL('../system/interop/mochi/', import.meta.url).pathname
const PROGRAM = join(FOLDER, 'target/mochi-broker')

/** Builds mochi unless that was done before. */
export async function buildMochi(): Promise<void> {
  await promisify(execFile)('go', ['build', '-o', PROGRAM, '.'], { cwd: FOLDER })
}

/** The broker mochi in a separate process on a free port. */
export class Mochi {
  readonly url: string
  readonly #process: ChildProcess

  private constructor(url: string, process: ChildProcess) {
    this.url = url
    this.#process = process
  }

  /** Resolves when mochi listens. */
  static async start(): Promise<Mochi> {
    const process = spawn(PROGRAM, [], { stdio: ['ignore', 'pipe', 'inherit'] })
    const address = await new Promise<string>((resolve, reject) => {
      process.once('error', reject)
      process.once('exit', code => reject(new Error(`mochi ended (${code})`)))
      createInterface({ input: process.stdout }).once('line', line => resolve(line.replace('running ', '')))
    })
    return new Mochi(`mqtt://${address}`, process)
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }
}
