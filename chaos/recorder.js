import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const BATCH = 1_000

/** What was seen, on disk: kept in memory it would hide what the library keeps. */
export class Recorder {
  #path
  #file
  /** @type {string[]} */
  #lines = []

  /** @param {string} path */
  constructor(path) {
    this.#path = path
    this.#file = openSync(path, 'w')
  }

  /** @param {unknown} record */
  write(record) {
    if (this.#lines.push(JSON.stringify(record)) >= BATCH) this.flush()
  }

  flush() {
    if (this.#lines.length > 0) writeSync(this.#file, `${this.#lines.join('\n')}\n`)
    this.#lines = []
  }

  /** Ends the recording. */
  close() {
    this.flush()
    closeSync(this.#file)
  }

  /** All records, in their order. */
  read() {
    return recordsOf(this.#path)
  }
}

/**
 * @param {string} path - of a file with one JSON value per line
 * @returns {AsyncGenerator<any>}
 */
export async function* recordsOf(path) {
  for await (const line of createInterface({ input: createReadStream(path) })) yield JSON.parse(line)
}
