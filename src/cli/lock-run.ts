import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import {
  catchError,
  concatMap,
  distinctUntilChanged,
  EMPTY,
  filter,
  firstValueFrom,
  map,
  merge,
  type Observable,
  of,
  ReplaySubject,
  type Subscription,
  startWith,
} from 'rxjs'
import type { Hlc } from '../client/index.js'
import type { Lease, LeaseLostError, LeaseState } from '../client/lease/index.js'
import { after } from '../client/requests/after.js'
import type { Clock } from '../core/util/clock.js'
import { reason } from '../core/util/errors.js'
import { wait } from '../core/util/wait.js'
import type { CliConnection } from './connection.js'
import { connectionProblems, printMessage } from './connection-messages.js'
import { EXIT, Failure, rootCause } from './failure.js'
import type { Io } from './io.js'
import { jsonLine, jsonTime } from './json.js'

/** All times are in ms. */
export interface LockRunOptions {
  /** Whether to wait while another holder has the lock. */
  readonly waits: boolean
  /** Maximum wait for the lock. Default: no limit. */
  readonly acquireTimeout: number | undefined
  readonly grace: number
  readonly json: boolean
}

export interface LockRunEnvironment {
  readonly connection: CliConnection
  readonly io: Io
}

type CommandLine = readonly [command: string, ...args: string[]]
type Held = Extract<LeaseState, { readonly status: 'held' }>

/**
 * Runs a command while the lease is held, then releases the lease and closes the client, which waits for the release.
 * Resolves to the exit code of the command. Rejects with a {@link Failure} if the lease cannot be acquired or is lost,
 * and with the errors of leases.
 */
export const runLocked = (
  lease: Lease,
  commandLine: CommandLine,
  options: LockRunOptions,
  environment: LockRunEnvironment,
): Promise<number> => new LockRun(lease, options, environment).run(commandLine)

class LockRun {
  readonly #lease: Lease
  readonly #options: LockRunOptions
  readonly #connection: CliConnection
  readonly #io: Io
  readonly #state$ = new ReplaySubject<LeaseState>(1)
  /** The lock's holder while this command waits for the lock. */
  #currentHolder: string | undefined

  constructor(lease: Lease, options: LockRunOptions, { connection, io }: LockRunEnvironment) {
    this.#lease = lease
    this.#options = options
    this.#connection = connection
    this.#io = io
  }

  async run(commandLine: CommandLine): Promise<number> {
    // Until the lock is released, signals do not end this process, and problems are reported.
    const background = this.#io.signal$.subscribe()
    background.add(this.#reportProblems())
    const reporting = this.#reportStates()
    const holding = this.#lease.subscribe(this.#state$)
    try {
      const held = await this.#acquired()
      return typeof held === 'number' ? held : await this.#runHeld(commandLine, held.token)
    } finally {
      reporting.unsubscribe()
      await this.#connection.store.close()
      holding.unsubscribe()
      background.unsubscribe()
    }
  }

  /** Resolves to the lease, or to an exit code if a signal arrives first. */
  #acquired(): Promise<Held | number> {
    return firstValueFrom(
      merge(
        this.#state$.pipe(concatMap(state => this.#checkState(state))),
        this.#io.signal$.pipe(
          filter(signal => signal !== 'SIGTSTP'),
          map(exitCodeOfSignal),
        ),
        this.#acquireTimeout(),
      ),
    )
  }

  #checkState(state: LeaseState): Observable<Held> {
    if (state.status === 'held') return of(state)
    if (state.status === 'waiting' && !this.#options.waits) throw this.#heldBy(state.holder)
    return EMPTY
  }

  #acquireTimeout(): Observable<never> {
    const { acquireTimeout } = this.#options
    if (acquireTimeout === undefined) return EMPTY
    return after(acquireTimeout, this.#io.clock).pipe(
      concatMap(() => this.#connection.store.status$),
      map(status => {
        if (this.#currentHolder !== undefined) throw this.#heldBy(this.#currentHolder)
        const cause = status.state === 'reconnecting' ? rootCause(status.cause) : 'no response'
        const lock = `the lock ${this.#lease.name} at ${this.#connection.broker}`
        throw new Failure(EXIT.failed, `cannot acquire ${lock} within ${acquireTimeout} ms: ${cause}`)
      }),
    )
  }

  async #runHeld([command, ...args]: CommandLine, token: Hlc): Promise<number> {
    const { spawn, clock, env, signal$ } = this.#io
    const printMessage = (message: string): void => this.#printMessage(message)
    const variables = { RX_STATESTORE_LOCK: this.#lease.name, RX_STATESTORE_FENCING_TOKEN: String(token) }
    const child = new Child(command, args, { ...env, ...variables }, { spawn, clock, report: printMessage })
    const passing = signal$.subscribe(signal => child.signal(signal))
    try {
      const loss = await Promise.race([child.ended, this.#lost(token)])
      if (typeof loss === 'number') {
        await this.#warnIfDisconnected()
        return loss
      }
      // Closes the client, because the lease would be requested again and might be acquired before the command has
      // ended.
      await Promise.all([child.stop(this.#options.grace), this.#connection.store.close()])
      throw new Failure(EXIT.lost, this.#options.json ? '' : lossOf(loss), { cause: loss })
    } finally {
      passing.unsubscribe()
    }
  }

  async #warnIfDisconnected(): Promise<void> {
    const { state } = await firstValueFrom(this.#connection.store.status$)
    if (state !== 'connected') this.#printMessage('cannot release the lock without a connection; it will expire')
  }

  /** Resolves when the lease ends for any reason. */
  #lost(token: Hlc): Promise<LeaseLostError | undefined> {
    const lost$ = this.#state$.pipe(
      filter(state => state.status !== 'held' || state.token !== token),
      map(state => (state.status === 'lost' ? state.cause : undefined)),
      catchError(() => of(undefined)),
    )
    return firstValueFrom(lost$, { defaultValue: undefined })
  }

  #heldBy(holder: string): Failure {
    return new Failure(EXIT.notMet, this.#options.json ? '' : `the lock ${this.#lease.name} is held by ${holder}`)
  }

  #reportProblems(): Subscription {
    const answered$ = this.#state$.pipe(
      map(() => true),
      startWith(false),
      distinctUntilChanged(),
    )
    return connectionProblems(this.#connection, answered$).subscribe({
      next: message => this.#printMessage(message),
      error: IGNORED,
    })
  }

  #reportStates(): Subscription {
    const changes$ = this.#state$.pipe(distinctUntilChanged(isRenewal))
    return changes$.subscribe({ next: state => this.#report(state), error: IGNORED })
  }

  #report(state: LeaseState): void {
    const hasWaited = this.#currentHolder !== undefined
    this.#currentHolder = state.status === 'waiting' ? state.holder : undefined
    if (this.#options.json) this.#write(membersOf(state))
    else if (state.status === 'waiting' && this.#options.waits) this.#printMessage(`waiting for ${state.holder}`)
    else if (state.status === 'held' && hasWaited) this.#printMessage(`acquired the lock ${this.#lease.name}`)
  }

  #printMessage(message: string): void {
    if (this.#options.json) this.#write({ message })
    else printMessage(message, this.#io)
  }

  #write(members: object): void {
    const { stderr, clock } = this.#io
    stderr.write(jsonLine({ time: jsonTime(clock.now()), lock: this.#lease.name, ...members }))
  }
}

/** Ignores an error that is reported when the command ends. */
const IGNORED = (): void => undefined

const isRenewal = (before: LeaseState, after: LeaseState): boolean =>
  before.status === 'held' && after.status === 'held' && before.token === after.token

function membersOf(state: LeaseState): object {
  if (state.status === 'held') return { status: state.status, holder: state.holder, token: state.token }
  if (state.status === 'waiting') return { status: state.status, holder: state.holder }
  return { status: state.status, reason: state.cause.reason }
}

function lossOf(loss: LeaseLostError | undefined): string {
  const message = loss?.message ?? 'The lease is lost'
  return loss?.cause === undefined ? message : `${message} (${rootCause(loss)})`
}

export interface ChildPort {
  readonly spawn: Io['spawn']
  readonly clock: Pick<Clock, 'schedule'>
  /** Called when the child cannot be signalled. */
  readonly report: (message: string) => void
}

const GROUP_POLL_INTERVAL_MS = 25

/**
 * A command that has the standard streams of this process and a separate process group. Signals also reach the
 * processes that the command starts. Signals of the terminal reach the command only once, forwarded by this process.
 */
export class Child {
  /**
   * Resolves to the exit code, which is 128+n for signal n. Rejects with a {@link Failure} if the command cannot be
   * started.
   */
  readonly ended: Promise<number>
  readonly #port: ChildPort
  readonly #process: ChildProcess

  /** Starts the process. Throws {@link Failure} if it cannot be created. */
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

  /** Signals the process group. */
  signal(signal: NodeJS.Signals): void {
    try {
      this.#kill(signal)
    } catch (error) {
      if (!isNoSuchProcess(error)) this.#port.report(`cannot send ${signal} to the command: ${reason(error)}`)
    }
  }

  /** Sends SIGTERM to the group and, after `grace` ms, SIGKILL. Resolves when the group has ended. */
  async stop(grace: number): Promise<void> {
    let killed = false
    this.signal('SIGTERM')
    const cancel = this.#port.clock.schedule(grace, () => {
      killed = true
      this.signal('SIGKILL')
    })
    try {
      await this.ended
      // After SIGKILL, zombies may remain in the group if nothing reaps them, for example in a container.
      while (!killed && this.#hasDescendants()) await wait(GROUP_POLL_INTERVAL_MS, this.#port.clock)
    } finally {
      cancel()
    }
  }

  #hasDescendants(): boolean {
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
}

/** Returns the exit code that shells use for a command that a signal ended. */
export const exitCodeOfSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

// Windows has no process groups and would open a window for a detached process.
const HAS_GROUPS = process.platform !== 'win32'

/** The exit codes that shells use for these failures. */
const [NOT_EXECUTABLE, NOT_FOUND] = [126, 127]

function notStarted(command: string, cause: unknown): Failure {
  if (codeOf(cause) === 'ENOENT') return new Failure(NOT_FOUND, `command not found: ${command}`, { cause })
  return new Failure(NOT_EXECUTABLE, `cannot run ${command}: ${reason(cause)}`, { cause })
}

const isNoSuchProcess = (error: unknown): boolean => codeOf(error) === 'ESRCH'

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
