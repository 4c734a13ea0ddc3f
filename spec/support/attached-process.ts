import { BehaviorSubject, filter, firstValueFrom } from 'rxjs'
import type { JetStreamOptions } from '../../src/server/log/jetstream/index.js'
import { launch, type RunningProgram } from './running-program.js'

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
  /** The store's directory. */
  readonly data?: string
  readonly log?: JetStreamOptions
}

/** An attached store in a separate process that a spec can kill. */
export class AttachedProcess {
  readonly #program: RunningProgram
  readonly #state$ = new BehaviorSubject('')

  constructor(url: string, kept: Kept = {}) {
    const args = ['--input-type=module', '-e', PROGRAM, url, JSON.stringify(kept)]
    this.#program = launch(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#program.lines$.subscribe(this.#state$)
  }

  /** Resolves when the store reports the given state, either already or later. Rejects if the process ends first. */
  async until(expected: string): Promise<void> {
    await Promise.race([firstValueFrom(this.#state$.pipe(filter(state => state === expected))), this.#program.ended])
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#program.end(signal)
  }
}
