import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

const START_TIMEOUT = 20_000
const ANSWER_TIMEOUT = 5_000
/** How long a process may take to terminate. */
const GRACE = 20_000

/** A process that can be killed, suspended and restarted. */
export class Process {
  /** For messages. */
  readonly name
  /** Whether it is suspended. */
  isPaused = false
  #start
  #complain
  #child: ChildProcess | undefined
  #starting: Promise<void> | undefined

  /** @param start - settles when the process is ready */
  constructor(name: string, start: () => Promise<ChildProcess>, complain: (what: string) => void) {
    this.name = name
    this.#start = start
    this.#complain = complain
    process.on('exit', () => this.#child?.kill('SIGKILL'))
  }

  get child() {
    return this.#child
  }

  /** Starts the process unless it runs; settles when it is ready. */
  start(): Promise<void> {
    this.go()
    if (this.#child !== undefined) return Promise.resolve()
    this.#starting ??= this.#begin().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #begin() {
    const child = await this.#start()
    this.#child = child
    const ended = () => {
      if (child !== this.#child) return
      this.#child = undefined
      this.#complain(`${this.name} ended unexpectedly (code ${child.exitCode}, signal ${child.signalCode})`)
    }
    child.once('exit', ended)
    if (child.exitCode !== null || child.signalCode !== null) ended()
  }

  /** Kills the process without warning, as in a power cut. */
  async kill() {
    const child = this.#child
    this.#child = undefined
    this.isPaused = false
    if (child) await end(child)
  }

  /** Terminates the process gracefully. */
  async terminate() {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return
    this.#go(child)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const late = globalThis.setTimeout(() => {
      this.#complain(`${this.name} did not end within ${GRACE} ms of SIGTERM`)
      child.kill('SIGKILL')
    }, GRACE)
    await ended
    clearTimeout(late)
    if (child.exitCode !== 0 && child.signalCode !== 'SIGKILL')
      this.#complain(`${this.name} ended with code ${child.exitCode} after SIGTERM`)
  }

  /** Suspends the process; its connections stay open. */
  pause() {
    this.isPaused = this.#child?.kill('SIGSTOP') ?? false
  }

  /** Resumes the process. */
  go() {
    if (this.#child) this.#go(this.#child)
  }

  #go(child: ChildProcess) {
    if (this.isPaused) child.kill('SIGCONT')
    this.isPaused = false
  }
}

/** Kills a process; settles when it has ended. */
const end = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('close', () => resolve())
    child.kill('SIGKILL')
  })

/** Starts a script of this folder as a process; settles when it reports that it is ready. */
export async function startScript(url: URL, args: readonly unknown[]): Promise<ChildProcess> {
  const child = fork(url.pathname, args.map(String), { execArgv: [] })
  await messageOf(child, START_TIMEOUT)
  return child
}

/** Starts a program; settles when a line of its log shows that it is ready. */
export async function startProgram(
  program: string,
  args: readonly string[],
  isReady: RegExp,
  onLine: (line: string) => void = () => undefined,
): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const said: string[] = []
  const ready = new Promise<void>(resolve => {
    createInterface({ input: child.stderr }).on('line', line => {
      onLine(line)
      if (said.length < 20) said.push(line)
      if (isReady.test(line)) resolve()
    })
  })
  const failure = await Promise.race([
    ready,
    once(child, 'exit', { signal: AbortSignal.timeout(START_TIMEOUT) }),
  ]).catch(error => error)
  if (failure === undefined) return child
  await end(child)
  throw new Error(`${program} failed to start: ${said.join('\n')}`)
}

/** Requests the statistics of a script. */
export async function statsOf<T>({ name, child }: Process): Promise<T> {
  if (child === undefined) throw new Error(`${name} is down`)
  const first = messageOf(child, ANSWER_TIMEOUT)
  child.send('stats')
  // Other messages may arrive first.
  for (let answer = await first; ; answer = await messageOf(child, ANSWER_TIMEOUT))
    if (typeof answer === 'object' && answer !== null && 'stats' in answer) return answer.stats as T
}

/** Returns the next message of a process. */
async function messageOf(child: ChildProcess, timeout: number): Promise<unknown> {
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
