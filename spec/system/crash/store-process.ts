import { launch, type RunningProgram } from '../../support/running-program.js'

export class StoreProcess {
  readonly #program: RunningProgram

  private constructor(program: RunningProgram) {
    this.#program = program
  }

  /** Starts a store, and resolves when it listens. */
  static async start(path: string, data: string, port: number): Promise<StoreProcess> {
    const program = launch(process.execPath, [path, data, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
    await program.line()
    return new StoreProcess(program)
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#program.end(signal)
  }
}
