import { type ChildProcess, spawn } from 'node:child_process'
import { fromEvent, map, merge, type Observable } from 'rxjs'
import { type Clock, systemClock } from '../core/util/clock.js'
import type { Environment } from '../node/environment.js'

/** The members of `process.stdout` that commands use. */
export interface Sink {
  readonly isTTY?: boolean
  /** Width of a terminal. */
  readonly columns?: number
  write(chunk: string | Uint8Array, done?: (error?: Error | null) => void): boolean
}

/** A command's environment, apart from files and the network. */
export interface Io {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Environment
  readonly clock: Clock
  /** Emits on SIGINT and SIGTERM. Without a subscriber these signals end the process, as they do by default. */
  readonly interrupt$: Observable<unknown>
  /** Emits on SIGHUP. */
  readonly hangUp$: Observable<unknown>
  /** The signals to forward to a child process. */
  readonly signal$: Observable<NodeJS.Signals>
  /** Standard input, which can be read once. */
  readonly stdin: AsyncIterable<Uint8Array>
  /** Starts a process with the stdio of this one. If the start fails, throws, or the process emits `error`. */
  spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess
}

export interface SpawnOptions {
  readonly env: NodeJS.ProcessEnv
  /** Whether the process starts in a new session and process group. */
  readonly detached: boolean
}

// The signals include SIGTSTP, because a stopped process would not renew the lock that its child relies on.
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGTSTP'] as const

export function processIo(): Io {
  // `print` reports failed writes. Without a listener, the event would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: systemClock,
    interrupt$: merge(fromEvent(process, 'SIGINT'), fromEvent(process, 'SIGTERM')),
    hangUp$: fromEvent(process, 'SIGHUP'),
    signal$: merge(...SIGNALS.map(signal => fromEvent(process, signal).pipe(map(() => signal)))),
    // This is a getter because access to `process.stdin` opens it.
    get stdin() {
      return process.stdin
    },
    spawn: (command, args, options) => spawn(command, args, { ...options, stdio: 'inherit' }),
  }
}

/** Writes data. Rejects if the write fails, for instance because the reader of a pipe has exited. */
export const print = (sink: Sink, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    sink.write(data, error => (error ? reject(error) : resolve()))
  })
