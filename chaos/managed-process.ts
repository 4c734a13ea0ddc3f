import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

const START_TIMEOUT_MS = 20_000
const RESPONSE_TIMEOUT_MS = 5_000
const TERMINATION_TIMEOUT_MS = 20_000

/** A process that can be killed, suspended and restarted. */
export class ManagedProcess {
  readonly name
  isSuspended = false
  #start
  #onViolation
  #child: ChildProcess | undefined
  #starting: Promise<void> | undefined

  /** @param start - starts the process, and resolves when it is ready */
  constructor(name: string, start: () => Promise<ChildProcess>, onViolation: (what: string) => void) {
    this.name = name
    this.#start = start
    this.#onViolation = onViolation
    process.on('exit', () => this.#child?.kill('SIGKILL'))
  }

  get child() {
    return this.#child
  }

  /** Starts the process unless it is running. Resolves when it is ready. */
  start(): Promise<void> {
    this.resume()
    if (this.#child !== undefined) return Promise.resolve()
    this.#starting ??= this.#startChild().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #startChild() {
    const child = await this.#start()
    this.#child = child
    const ended = () => {
      if (child !== this.#child) return
      this.#child = undefined
      this.#onViolation(`${this.name} ended unexpectedly (code ${child.exitCode}, signal ${child.signalCode})`)
    }
    child.once('exit', ended)
    if (child.exitCode !== null || child.signalCode !== null) ended()
  }

  /** Kills the process without warning, as a power cut does. */
  async kill() {
    const child = this.#child
    this.#child = undefined
    this.isSuspended = false
    if (child) await killProcess(child)
  }

  async terminate() {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return
    this.#resume(child)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const late = globalThis.setTimeout(() => {
      this.#onViolation(`${this.name} did not end within ${TERMINATION_TIMEOUT_MS} ms of SIGTERM`)
      child.kill('SIGKILL')
    }, TERMINATION_TIMEOUT_MS)
    await ended
    clearTimeout(late)
    if (child.exitCode !== 0 && child.signalCode !== 'SIGKILL')
      this.#onViolation(`${this.name} ended with code ${child.exitCode} after SIGTERM`)
  }

  suspend() {
    this.isSuspended = this.#child?.kill('SIGSTOP') ?? false
  }

  resume() {
    if (this.#child) this.#resume(this.#child)
  }

  #resume(child: ChildProcess) {
    if (this.isSuspended) child.kill('SIGCONT')
    this.isSuspended = false
  }
}

const killProcess = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('close', () => resolve())
    child.kill('SIGKILL')
  })

/** Starts a script of this folder as a process. Resolves when the script reports that it is ready. */
export async function startScript(url: URL, args: readonly unknown[]): Promise<ChildProcess> {
  const child = fork(url.pathname, args.map(String), { execArgv: [] })
  await nextMessage(child, START_TIMEOUT_MS)
  return child
}

/** Starts a program. Resolves when a line of its log shows that it is ready. */
export async function startProgram(
  program: string,
  args: readonly string[],
  isReady: RegExp,
  onLine: (line: string) => void = () => undefined,
): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const output: string[] = []
  const ready = new Promise<void>(resolve => {
    createInterface({ input: child.stderr }).on('line', line => {
      onLine(line)
      if (output.length < 20) output.push(line)
      if (isReady.test(line)) resolve()
    })
  })
  const failure = await Promise.race([
    ready,
    once(child, 'exit', { signal: AbortSignal.timeout(START_TIMEOUT_MS) }),
  ]).catch(error => error)
  if (failure === undefined) return child
  await killProcess(child)
  throw new Error(`${program} failed to start: ${output.join('\n')}`)
}

export async function requestStats<T>({ name, child }: ManagedProcess): Promise<T> {
  if (child === undefined) throw new Error(`${name} is down`)
  const first = nextMessage(child, RESPONSE_TIMEOUT_MS)
  child.send('stats')
  // Other messages may arrive before the response.
  for (let response = await first; ; response = await nextMessage(child, RESPONSE_TIMEOUT_MS))
    if (typeof response === 'object' && response !== null && 'stats' in response) return response.stats as T
}

async function nextMessage(child: ChildProcess, timeout: number): Promise<unknown> {
  const settled = new AbortController()
  const { signal } = settled
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message),
      once(child, 'exit', { signal }).then(() => Promise.reject(new Error('The process ended'))),
      setTimeout(timeout, undefined, { signal }).then(() =>
        Promise.reject(new Error(`The process did not answer in ${timeout} ms`)),
      ),
    ])
  } finally {
    settled.abort()
  }
}
