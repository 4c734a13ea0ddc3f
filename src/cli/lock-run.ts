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
  Observable,
  of,
  ReplaySubject,
  type Subscription,
  startWith,
} from 'rxjs'
import type { Hlc } from '../client/index.js'
import type { Lease, LeaseLostError, LeaseState } from '../client/lease/index.js'
import type { Clock } from '../core/util/clock.js'
import { reason } from '../core/util/errors.js'
import type { Connection } from './connection.js'
import { say, troubleOf } from './connection-messages.js'
import { EXIT, Failure, rootCause } from './failure.js'
import type { Io } from './io.js'
import { jsonLine, jsonTime } from './json.js'

/** How a command is run under a lock. Times in ms. */
export interface LockRunOptions {
  /** Whether it waits for somebody else to give the lock back. */
  readonly waits: boolean
  /** Longest time until the lock is held; missing for ever. */
  readonly patience: number | undefined
  readonly grace: number
  readonly json: boolean
}

/** Where it happens. */
export interface LockRunEnvironment {
  readonly connection: Connection
  readonly io: Io
}

type Words = readonly [command: string, ...args: string[]]
type Held = Extract<LeaseState, { readonly status: 'held' }>

/**
 * Runs a command while the lease is held; resolves to its exit code. Then the lease is given back, and the client is
 * closed: only a client that says farewell waits for the answer. Rejects with a {@link Failure} when the lease is not to
 * be had or was lost, and as leases do.
 */
export const runLocked = (
  lease: Lease,
  words: Words,
  terms: LockRunOptions,
  world: LockRunEnvironment,
): Promise<number> => new LockRun(lease, terms, world).run(words)

class LockRun {
  readonly #lease: Lease
  readonly #terms: LockRunOptions
  readonly #connection: Connection
  readonly #io: Io
  readonly #state$ = new ReplaySubject<LeaseState>(1)
  /** Whom we wait for; missing while no holder of the lock is known. */
  #waitsFor: string | undefined

  constructor(lease: Lease, terms: LockRunOptions, { connection, io }: LockRunEnvironment) {
    this.#lease = lease
    this.#terms = terms
    this.#connection = connection
    this.#io = io
  }

  async run(words: Words): Promise<number> {
    // Until the lock is given back: a signal must not end us before, and it is told when that fails.
    const background = this.#io.signal$.subscribe()
    background.add(this.#tellTrouble())
    const telling = this.#tellStates()
    const holding = this.#lease.subscribe(this.#state$)
    try {
      const held = await this.#acquired()
      return typeof held === 'number' ? held : await this.#runHeld(words, held.token)
    } finally {
      telling.unsubscribe()
      await this.#connection.store.close()
      holding.unsubscribe()
      background.unsubscribe()
    }
  }

  /** The lease, or the exit code when a signal came before it. */
  #acquired(): Promise<Held | number> {
    return firstValueFrom(
      merge(
        this.#state$.pipe(concatMap(state => this.#judged(state))),
        this.#io.signal$.pipe(
          filter(signal => signal !== 'SIGTSTP'),
          map(exitCodeOfSignal),
        ),
        this.#outOfPatience(),
      ),
    )
  }

  #judged(state: LeaseState): Observable<Held> {
    if (state.status === 'held') return of(state)
    if (state.status === 'waiting' && !this.#terms.waits) throw this.#heldBy(state.holder)
    return EMPTY
  }

  #outOfPatience(): Observable<never> {
    const { patience } = this.#terms
    if (patience === undefined) return EMPTY
    return this.#after(patience).pipe(
      concatMap(() => this.#connection.store.status$),
      map(status => {
        if (this.#waitsFor !== undefined) throw this.#heldBy(this.#waitsFor)
        const cause = status.state === 'reconnecting' ? rootCause(status.cause) : 'no answer'
        const lock = `the lock ${this.#lease.name} at ${this.#connection.broker}`
        throw new Failure(EXIT.failed, `cannot acquire ${lock} within ${patience} ms: ${cause}`)
      }),
    )
  }

  #after(delay: number): Observable<void> {
    return new Observable(subscriber => this.#io.clock.schedule(delay, () => subscriber.next()))
  }

  async #runHeld([command, ...args]: Words, token: Hlc): Promise<number> {
    const { spawn, clock, env, signal$ } = this.#io
    const report = (words: string): void => this.#say(words)
    const variables = { RX_STATESTORE_LOCK: this.#lease.name, RX_STATESTORE_FENCING_TOKEN: String(token) }
    const child = new Child(command, args, { ...env, ...variables }, { spawn, clock, report })
    const passing = signal$.subscribe(signal => child.signal(signal))
    try {
      const loss = await Promise.race([child.ended, this.#lost(token)])
      if (typeof loss === 'number') {
        await this.#tellWhetherKept()
        return loss
      }
      // A lease that goes on asks anew, and might be held before the command has ended.
      await Promise.all([child.stop(this.#terms.grace), this.#connection.store.close()])
      throw new Failure(EXIT.lost, this.#terms.json ? '' : lossOf(loss), { cause: loss })
    } finally {
      passing.unsubscribe()
    }
  }

  async #tellWhetherKept(): Promise<void> {
    const { state } = await firstValueFrom(this.#connection.store.status$)
    if (state !== 'connected') this.#say('cannot give the lock back without a connection; it runs out by itself')
  }

  /** However the lease ends, the command does not go on without it. */
  #lost(token: Hlc): Promise<LeaseLostError | undefined> {
    const lost$ = this.#state$.pipe(
      filter(state => state.status !== 'held' || state.token !== token),
      map(state => (state.status === 'lost' ? state.cause : undefined)),
      catchError(() => of(undefined)),
    )
    return firstValueFrom(lost$, { defaultValue: undefined })
  }

  #heldBy(holder: string): Failure {
    return new Failure(EXIT.notMet, this.#terms.json ? '' : `the lock ${this.#lease.name} is held by ${holder}`)
  }

  #tellTrouble(): Subscription {
    const answered$ = this.#state$.pipe(
      map(() => true),
      startWith(false),
      distinctUntilChanged(),
    )
    return troubleOf(this.#connection, answered$).subscribe({ next: words => this.#say(words), error: SILENT })
  }

  #tellStates(): Subscription {
    const news$ = this.#state$.pipe(distinctUntilChanged(isRenewal))
    return news$.subscribe({ next: state => this.#tell(state), error: SILENT })
  }

  #tell(state: LeaseState): void {
    const hadToWait = this.#waitsFor !== undefined
    this.#waitsFor = state.status === 'waiting' ? state.holder : undefined
    if (this.#terms.json) this.#write(membersOf(state))
    else if (state.status === 'waiting' && this.#terms.waits) this.#say(`waiting for ${state.holder}`)
    else if (state.status === 'held' && hadToWait) this.#say(`acquired the lock ${this.#lease.name}`)
  }

  #say(message: string): void {
    if (this.#terms.json) this.#write({ message })
    else say(message, this.#io)
  }

  #write(members: object): void {
    const { stderr, clock } = this.#io
    stderr.write(jsonLine({ time: jsonTime(clock.now()), lock: this.#lease.name, ...members }))
  }
}

/** What ends a command is told when it ends. */
const SILENT = (): void => undefined

const isRenewal = (before: LeaseState, after: LeaseState): boolean =>
  before.status === 'held' && after.status === 'held' && before.token === after.token

function membersOf(state: LeaseState): object {
  if (state.status === 'held') return { status: state.status, holder: state.holder, token: state.token }
  if (state.status === 'waiting') return { status: state.status, holder: state.holder }
  return { status: state.status, reason: state.cause.reason }
}

function lossOf(loss: LeaseLostError | undefined): string {
  const words = loss?.message ?? 'The lease is lost'
  return loss?.cause === undefined ? words : `${words} (${rootCause(loss)})`
}

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
