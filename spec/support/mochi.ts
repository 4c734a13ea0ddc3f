import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { RunningProgram } from './running-program.js'

const FOLDER = new URL('../system/interop/mochi/', import.meta.url).pathname
const PROGRAM = join(FOLDER, 'target/mochi-broker')

/** Builds mochi unless that was done before. */
export async function buildMochi(): Promise<void> {
  await promisify(execFile)('go', ['build', '-o', PROGRAM, '.'], { cwd: FOLDER })
}

/** The broker mochi in a separate process on a free port. */
export class Mochi {
  readonly url: string
  readonly #program: RunningProgram

  private constructor(url: string, program: RunningProgram) {
    this.url = url
    this.#program = program
  }

  /** Resolves when mochi listens. */
  static async start(): Promise<Mochi> {
    const program = new RunningProgram(PROGRAM, [])
    const line = await program.line(/^running /)
    return new Mochi(`mqtt://${line.replace('running ', '')}`, program)
  }

  async stop(): Promise<void> {
    await this.#program.end()
  }
}
