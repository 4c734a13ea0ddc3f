import { type ChildProcess, spawn } from 'node:child_process'
import { fromEvent, map, merge, type Observable } from 'rxjs'
import { type Clock, systemClock } from '../core/util/clock.js'
import type { Environment } from '../node/environment.js'

/** Where output goes: what the command line needs of `process.stdout`. */
export interface Sink {
  readonly isTTY?: boolean
  /** Width of a terminal. */
  readonly columns?: number
  write(chunk: string | Uint8Array, done?: (error?: Error | null) => void): boolean
}

/** The world outside: all that a command can see and touch besides files and the network. */
export interface Io {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Environment
  /** Wall time for what is printed, and for what has to wait. */
  readonly clock: Clock
  /** SIGINT and SIGTERM. Without a subscriber they end the process as usual. */
  readonly interrupt$: Observable<unknown>
  /** SIGHUP. As usual without a subscriber. */
  readonly hangUp$: Observable<unknown>
  /** All that a terminal or another process may want of a command that we run. As usual without a subscriber. */
  readonly signal$: Observable<NodeJS.Signals>
  /** What comes on stdin; to be read once. */
  readonly stdin: AsyncIterable<Uint8Array>
  /** Starts a process that reads and writes where this one does. Throws, or lets it emit `error`, when it cannot. */
  spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess
}

/** How a process is started. */
export interface SpawnOptions {
  readonly env: NodeJS.ProcessEnv
  /** In a session and process group of its own. */
  readonly detached: boolean
}

// SIGTSTP as well: a process that is stopped does not renew what a command that goes on elsewhere relies on.
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGTSTP'] as const

/** The world of this process. */
export function processIo(): Io {
  // A failed write is told to the writer; unheard, the event would end the process with a stack trace.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: systemClock,
    interrupt$: merge(fromEvent(process, 'SIGINT'), fromEvent(process, 'SIGTERM')),
    hangUp$: fromEvent(process, 'SIGHUP'),
    signal$: merge(...SIGNALS.map(signal => fromEvent(process, signal).pipe(map(() => signal)))),
    // Looking at it opens it.
    get stdin() {
      return process.stdin
    },
    spawn: (command, args, options) => spawn(command, args, { ...options, stdio: 'inherit' }),
  }
}

/** Writes data, and rejects when the reader is gone. */
export const print = (sink: Sink, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    sink.write(data, error => (error ? reject(error) : resolve()))
  })
