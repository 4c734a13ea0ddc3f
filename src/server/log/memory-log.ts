import type { Entry } from '../engine/entry.js'
import type { Log, LogListener } from './log.js'

/** Commits at once and keeps nothing: for a store that lives as long as its process. */
export class MemoryLog implements Log {
  readonly immediate = true
  readonly pause = 0
  #listener: LogListener | undefined

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  append(entry: Entry): void {
    this.#listener?.committed(entry)
  }

  async close(): Promise<void> {
    this.#listener = undefined
  }
}
