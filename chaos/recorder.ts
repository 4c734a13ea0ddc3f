import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { ReceivedEntry } from '../harness/judges/subscriber.js'
import type { EndedWrite } from '../harness/judges/writes.js'

const BATCH = 1_000

interface Subscriber {
  readonly watcher: string
  /** The watched glob, or `undefined` for a watched key. */
  readonly glob?: string | undefined
}

/** What a client observed: a write's outcome, a read, an entry of a watch, or when a glob became live. */
export type Observation =
  | ({ readonly type: 'write' } & EndedWrite)
  | {
      readonly type: 'read'
      readonly client: string
      readonly key: string
      readonly value: string
      readonly version: string
    }
  | ({ readonly type: 'live'; readonly since?: number | undefined } & Subscriber)
  | ({ readonly type: 'entry' } & Subscriber & ReceivedEntry)

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

export async function* writesOf(observations: AsyncIterable<Observation>) {
  for await (const record of observations) if (record.type === 'write') yield record
}

/** Reads a file that has one JSON value per line. */
export async function* recordsOf<T>(path: string): AsyncGenerator<T> {
  for await (const line of createInterface({ input: createReadStream(path) })) yield JSON.parse(line) as T
}
