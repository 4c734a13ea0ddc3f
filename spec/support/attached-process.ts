import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

const PROGRAM = `
import { attach } from ${JSON.stringify(new URL('../../dist/standalone.js', import.meta.url).href)}
const [url, data] = process.argv.slice(1)
const store = await attach(url, data ? { data } : {})
store.state$.subscribe(({ state }) => process.stdout.write(state + '\\n'))
process.on('SIGTERM', () => store.close())
`

/** An attached store in a process of its own, to be killed. */
export class AttachedProcess {
  readonly #process: ChildProcess
  readonly #said: string[] = []
  readonly #waiting = new Set<() => void>()

  /** @param data - directory; default none */
  constructor(url: string, data = '') {
    this.#process = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, url, data], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void this.#process.kill('SIGKILL'))
    this.#process.stdout?.on('data', lines => {
      this.#said.push(...String(lines).trim().split('\n'))
      for (const wake of this.#waiting) wake()
    })
  }

  /** Resolves when it says that state of itself, now or later. */
  async until(state: string): Promise<void> {
    while (this.#said.at(-1) !== state) {
      await new Promise<void>(resolve => {
        this.#waiting.add(resolve)
      })
    }
  }

  /** Resolves when it is gone. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const gone = once(this.#process, 'exit')
    this.#process.kill(signal)
    await gone
  }
}
