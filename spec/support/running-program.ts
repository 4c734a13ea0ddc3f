import { type ChildProcess, type Serializable, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { filter, firstValueFrom, ReplaySubject } from 'rxjs'
import { onTestFinished } from 'vitest'

/** A program in a separate process, whose output a spec can await. */
export class RunningProgram {
  readonly child: ChildProcess
  /** The exit code and the signal that ended the process. */
  readonly exit: Promise<unknown[]>
  /** Resolves when the program has ended and all its output is read. */
  readonly closed: Promise<unknown>
  /** Rejects with the output when the program has ended. */
  readonly ended: Promise<never>
  readonly #lines: string[] = []
  /** All lines of the output. */
  readonly lines$ = new ReplaySubject<string>()

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    this.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    this.exit = once(this.child, 'exit')
    this.closed = once(this.child, 'close')
    this.ended = this.closed.then(() => {
      throw new Error(`${command} has ${this.status}`)
    })
    for (const promise of [this.exit, this.closed, this.ended]) promise.catch(() => undefined)
    for (const input of [this.child.stdout, this.child.stderr])
      if (input)
        createInterface({ input }).on('line', line => {
          this.#lines.push(line)
          this.lines$.next(line)
        })
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** How the program has ended, with its output, or `running`. */
  get status(): string {
    const { exitCode, signalCode } = this.child
    return this.isRunning ? 'running' : `ended (${signalCode ?? exitCode}): ${this.#lines.join('\n')}`
  }

  /** Returns the first line of output that matches, including earlier lines. Rejects if the program ends first. */
  async line(pattern: RegExp = /^/): Promise<string> {
    return Promise.race([firstValueFrom(this.lines$.pipe(filter(line => pattern.test(line)))), this.ended])
  }

  /** Sends a signal, and returns the exit code and the signal that ended the process. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<unknown[]> {
    this.child.kill(signal)
    return this.exit
  }
}

/** Starts a program, which is killed at the end of the test. */
export function launch(command: string, args: readonly string[], options?: SpawnOptions): RunningProgram {
  return killedAtEnd(new RunningProgram(command, args, options))
}

function killedAtEnd<T extends RunningProgram>(program: T): T {
  onTestFinished(async () => {
    if (program.isRunning) await program.end()
  })
  return program
}

/** A Node program that sends a message when it is ready, and then answers messages one at a time. */
export class AnsweringProgram extends RunningProgram {
  private constructor(path: string, args: readonly string[], flags: readonly string[]) {
    super(process.execPath, [...flags, path, ...args], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      env: { PATH: process.env['PATH'] },
    })
  }

  /** Starts a program. Returns it with its first message. */
  static async start(path: string, args: readonly string[] = [], flags: readonly string[] = []) {
    const program = new AnsweringProgram(path, args, flags)
    return { program, ready: await program.#message() }
  }

  /** Starts a program, which is killed at the end of the test. Returns it with its first message. */
  static async launch(path: string, args: readonly string[] = [], flags: readonly string[] = []) {
    const program = killedAtEnd(new AnsweringProgram(path, args, flags))
    return { program, ready: await program.#message() }
  }

  /** Sends a message and returns the answer. Rejects with the output if the program has ended. */
  async ask(question: Serializable) {
    const answer = this.#message()
    if (this.isRunning) this.child.send(question)
    return answer
  }

  async #message() {
    const [value] = await Promise.race([once(this.child, 'message'), this.ended])
    return value
  }
}
