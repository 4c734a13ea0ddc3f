import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const START_TIMEOUT_MS = 20_000
const TERMINATION_TIMEOUT_MS = 20_000

/** A process that can be killed, suspended and restarted. */
export class ManagedProcess {
  readonly name
  #isSuspended = false
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

  /** Starts or resumes the process. Resolves when it is ready. */
  start(): Promise<void> {
    this.#resume()
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
    if (hasEnded(child)) ended()
  }

  /** Kills the process without warning, as a power cut does. */
  async kill() {
    const child = this.#child
    this.#child = undefined
    this.#isSuspended = false
    if (child) await killProcess(child)
  }

  async terminate() {
    this.#resume()
    const child = this.#child
    this.#child = undefined
    if (child === undefined || hasEnded(child)) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const late = setTimeout(() => {
      this.#onViolation(`${this.name} did not end within ${TERMINATION_TIMEOUT_MS} ms of SIGTERM`)
      child.kill('SIGKILL')
    }, TERMINATION_TIMEOUT_MS)
    await ended
    clearTimeout(late)
    if (child.exitCode !== 0 && child.signalCode !== 'SIGKILL')
      this.#onViolation(`${this.name} ended with code ${child.exitCode} after SIGTERM`)
  }

  suspend() {
    this.#isSuspended = this.#child?.kill('SIGSTOP') ?? false
  }

  #resume() {
    if (this.#isSuspended) this.#child?.kill('SIGCONT')
    this.#isSuspended = false
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

async function killProcess(child: ChildProcess) {
  if (hasEnded(child)) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
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
