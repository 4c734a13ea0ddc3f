import { closeSync, openSync } from 'node:fs'
import { hasCode } from './files.js'

/** A file descriptor that is kept for a task that must run although the process has no other descriptor left. */
export class SpareDescriptor {
  #fd: number | undefined

  constructor() {
    this.#refill()
  }

  /** Returns whether an error means that no descriptor is left, in the process or the system. */
  static isFor(error: unknown): boolean {
    return hasCode(error, 'EMFILE', 'ENFILE')
  }

  /** Runs a synchronous task that needs one descriptor, and runs it again with the spare one if none is left. */
  lend<T>(task: () => T): T {
    this.#refill()
    try {
      return task()
    } catch (error) {
      if (!SpareDescriptor.isFor(error) || this.#fd === undefined) throw error
      this.close()
      try {
        return task()
      } finally {
        this.#refill()
      }
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  #refill(): void {
    if (this.#fd !== undefined) return
    try {
      this.#fd = openSync(process.platform === 'win32' ? process.execPath : '/dev/null', 'r')
    } catch {
      // The next task refills it.
    }
  }
}
