import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import type { Program } from '../../support/bundle.js'

export class StoreProcess {
  readonly url: string
  readonly #process: ChildProcess

  private constructor(process: ChildProcess, url: string) {
    this.#process = process
    this.url = url
  }

  static async start({ path }: Program, data: string, port: number): Promise<StoreProcess> {
    const child = spawn(process.execPath, [path, data, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
    // The process is also killed after a violation.
    onTestFinished(() => void child.kill('SIGKILL'))
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', line => resolve(String(line).trim()))
      child.once('exit', code => reject(new Error(`the store ended with ${code} before it listened`)))
    })
    return new StoreProcess(child, url)
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const exited = once(this.#process, 'exit')
    this.#process.kill(signal)
    await exited
  }
}
