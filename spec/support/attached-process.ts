import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import type { JetStreamOptions } from '../../src/server/log/jetstream/index.js'

const dist = (file: string): string => JSON.stringify(new URL(`../../dist/${file}`, import.meta.url).href)

const PROGRAM = `
import { attach } from ${dist('server/index.js')}
const [url, kept] = process.argv.slice(1)
const { data, log } = JSON.parse(kept)
const shared = log && (await import(${dist('server/log/jetstream/index.js')})).jetStreamLog(log)
const store = await attach(url, { ...(data && { data }), ...(shared && { log: shared }) })
store.state$.subscribe(({ state }) => process.stdout.write(state + '\\n'))
process.on('SIGTERM', () => store.close())
`

/** The location of the keys. By default, they are in memory. */
interface Kept {
  /** The directory of the store. */
  readonly data?: string
  readonly log?: JetStreamOptions
}

/** An attached store in a separate process that a spec can kill. */
export class AttachedProcess {
  readonly #process: ChildProcess
  readonly #output: string[] = []
  readonly #waiting = new Set<() => void>()

  constructor(url: string, kept: Kept = {}) {
    this.#process = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, url, JSON.stringify(kept)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void this.#process.kill('SIGKILL'))
    this.#process.stdout?.on('data', lines => {
      this.#output.push(...String(lines).trim().split('\n'))
      for (const wake of this.#waiting) wake()
    })
  }

  /** Resolves when the store reports the given state, either already or later. */
  async until(state: string): Promise<void> {
    while (this.#output.at(-1) !== state) {
      await new Promise<void>(resolve => {
        this.#waiting.add(resolve)
      })
    }
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const gone = once(this.#process, 'exit')
    this.#process.kill(signal)
    await gone
  }
}
