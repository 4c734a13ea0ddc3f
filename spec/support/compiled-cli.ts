import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { compilePackage, ROOT } from './compile-package.js'
import { launch, type RunningProgram } from './running-program.js'

const COMPILE_TIMEOUT_MS = 120_000

/** The command line of the package, compiled from the current sources. */
export interface CompiledCli {
  /** The folder of the package. */
  readonly folder: string
  /** The program, to run with Node. */
  readonly main: string
  /** Runs a command, which is killed at the end of the test. */
  launch(...args: readonly string[]): RunningProgram
}

/** Compiles the package before a file's tests, and removes it after them. */
export function compiledCli(): CompiledCli {
  let folder = ''
  // The folder is below node_modules, so that imports of other packages resolve.
  beforeAll(async () => {
    const cache = join(ROOT, 'node_modules/.cache')
    await mkdir(cache, { recursive: true })
    folder = await mkdtemp(join(cache, 'rx-statestore-cli-'))
    await compilePackage(folder, 'code')
  }, COMPILE_TIMEOUT_MS)
  afterAll(async () => rm(folder, { recursive: true }))
  return {
    get folder() {
      return folder
    },
    get main() {
      return join(folder, 'dist/cli/main.js')
    },
    launch(...args) {
      const stdio = ['pipe', 'pipe', 'pipe'] as const
      return launch(process.execPath, [this.main, ...args], { stdio: [...stdio], env: { PATH: process.env['PATH'] } })
    },
  }
}
