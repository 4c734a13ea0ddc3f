import { fromEvent, merge, type Observable } from 'rxjs'
import { concatBytes } from '../bytes.js'
import { type Clock, systemClock } from '../clock.js'
import type { Environment } from '../settings.js'

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
  /** Wall time, for what is printed. */
  readonly clock: Pick<Clock, 'now'>
  /** SIGINT and SIGTERM. While nobody subscribes, they end the process as usual. */
  readonly interrupt$: Observable<unknown>
  readStdin(): Promise<Uint8Array>
}

/** The world of this process. */
export function processIo(): Io {
  // A failed write is told to whoever wrote; unheard, the event would end the process with a stack trace.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: systemClock,
    interrupt$: merge(fromEvent(process, 'SIGINT'), fromEvent(process, 'SIGTERM')),
    readStdin: async () => concatBytes(await process.stdin.toArray()),
  }
}

/** Writes data, and rejects when nobody takes it. */
export const print = (sink: Sink, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    sink.write(data, error => (error ? reject(error) : resolve()))
  })
