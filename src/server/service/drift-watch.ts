/** Tells when versions begin to run ahead of the wall clock, and when it has caught up. */
export class DriftWatch {
  readonly #tell: (drift: number) => void
  #adrift = false

  constructor(tell: (drift: number) => void) {
    this.#tell = tell
  }

  /** To be called with the drift as it is now, ms. */
  look(drift: number): void {
    if (drift > 0 === this.#adrift) return
    this.#adrift = drift > 0
    this.#tell(drift)
  }
}
