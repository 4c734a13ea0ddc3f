import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { Clock } from '../core/util/clock.js'
import { reason } from '../core/util/errors.js'
import { EXIT, Failure } from './failure.js'
import type { Io } from './io.js'

/** What a child needs of the world, and whom it tells that it cannot be signalled. */
export interface ChildPort {
  readonly spawn: Io['spawn']
  readonly clock: Pick<Clock, 'schedule'>
  readonly report: (words: string) => void
}

/** ms between looks at what a command has left behind. */
const LOOK = 25

/**
 * A command that runs with our standard streams, in a process group of its own: what it starts ends with it, and a
 * signal of the terminal comes to it once, through us.
 */
export class Child {
  /** Exit code as a shell tells it: 128+n for a signal. Rejects with a {@link Failure} when it cannot be started. */
  readonly ended: Promise<number>
  readonly #port: ChildPort
  readonly #process: ChildProcess

  /** Throws {@link Failure} when the system refuses at once. */
  constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv, port: ChildPort) {
    this.#port = port
    try {
      this.#process = port.spawn(command, args, { env, detached: HAS_GROUPS })
    } catch (cause) {
      throw notStarted(command, cause)
    }
    this.ended = new Promise((resolve, reject) => {
      this.#process.once('error', cause => reject(notStarted(command, cause)))
      this.#process.once('exit', (code, signal) => resolve(code ?? (signal ? exitCodeOfSignal(signal) : EXIT.failed)))
    })
  }

  /** Signals it and what it has started. */
  signal(signal: NodeJS.Signals): void {
    try {
      this.#kill(signal)
    } catch (error) {
      if (!isGone(error)) this.#port.report(`cannot send ${signal} to the command: ${reason(error)}`)
    }
  }

  /** Ends it and what it has started: SIGTERM, and after `grace` ms SIGKILL. Resolves when nothing of it runs. */
  async stop(grace: number): Promise<void> {
    let killed = false
    this.signal('SIGTERM')
    const cancel = this.#port.clock.schedule(grace, () => {
      killed = true
      this.signal('SIGKILL')
    })
    try {
      await this.ended
      // What was killed may stay in the group, dead, where no parent collects it, as in a container.
      while (!killed && this.#leftSomething()) await this.#pause()
    } finally {
      cancel()
    }
  }

  #leftSomething(): boolean {
    try {
      this.#kill(0)
      return HAS_GROUPS
    } catch {
      return false
    }
  }

  #kill(signal: NodeJS.Signals | 0): void {
    const { pid } = this.#process
    if (pid !== undefined) process.kill(HAS_GROUPS ? -pid : pid, signal)
  }

  #pause(): Promise<void> {
    return new Promise(resolve => this.#port.clock.schedule(LOOK, resolve))
  }
}

/** How shells tell that a command was ended by a signal. */
export const exitCodeOfSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

// Windows has none, and would open a window for a detached process.
const HAS_GROUPS = process.platform !== 'win32'

/** Exit codes of shells. */
const [NOT_EXECUTABLE, NOT_FOUND] = [126, 127]

function notStarted(command: string, cause: unknown): Failure {
  if (codeOf(cause) === 'ENOENT') return new Failure(NOT_FOUND, `command not found: ${command}`, { cause })
  return new Failure(NOT_EXECUTABLE, `cannot run ${command}: ${reason(cause)}`, { cause })
}

const isGone = (error: unknown): boolean => codeOf(error) === 'ESRCH'

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
