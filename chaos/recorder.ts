import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Seen } from '../spec/judges/watch.js'
import type { Outcome, Verb } from './writers.js'

const BATCH = 1_000

export type Version = string | null | undefined
type Sight = readonly [
  watcherId: string,
  key: string,
  connection: number,
  connectedAt: number,
  isLive: boolean,
  op: Seen['op'],
  value: string,
  version: Version,
  source: Seen['source'],
]

/**
 * An observation: the outcome of a write, a read, an entry of a watched key or glob, or the time when a glob became
 * live.
 */
export type Observation =
  | readonly ['write', client: string, Verb, key: string, value: string, Outcome, Version, expires: boolean, at: number]
  | readonly ['read', client: string, key: string, value: string, Version]
  | readonly ['live', watcherId: string, since: number | null]
  | readonly ['entry', ...Sight]
  | readonly ['glob', ...Sight, glob: string, isSure: boolean]

/** Records observations on disk, because observations in memory would hide leaks of the library. */
export class Recorder<T = Observation> {
  readonly path
  #file
  #lines: string[] = []

  constructor(path: string) {
    this.path = path
    this.#file = openSync(path, 'w')
  }

  write(record: T): void {
    if (this.#lines.push(JSON.stringify(record)) >= BATCH) this.flush()
  }

  flush(): void {
    if (this.#lines.length > 0) writeSync(this.#file, `${this.#lines.join('\n')}\n`)
    this.#lines = []
  }

  close(): void {
    this.flush()
    closeSync(this.#file)
  }

  read(): AsyncGenerator<T> {
    return recordsOf<T>(this.path)
  }
}

/** Reads a file that has one JSON value per line. */
export async function* recordsOf<T>(path: string): AsyncGenerator<T> {
  for await (const line of createInterface({ input: createReadStream(path) })) yield JSON.parse(line) as T
}
