import type { Readable } from 'node:stream'

/** Who may hold up what a connection brings. */
type Holder = 'lane' | 'requests'

/** Lets a stream flow while nobody holds it up; what is not read stays with the system, which slows the sender down. */
export class Tap {
  readonly #stream: Readable
  #lane = false
  #requests = false

  constructor(stream: Readable) {
    this.#stream = stream
  }

  close(holder: Holder): void {
    this.#set(holder, true)
  }

  open(holder: Holder): void {
    this.#set(holder, false)
  }

  #set(holder: Holder, closed: boolean): void {
    const before = this.#lane || this.#requests
    if (holder === 'lane') this.#lane = closed
    else this.#requests = closed
    const after = this.#lane || this.#requests
    if (after && !before) this.#stream.pause()
    if (before && !after) this.#stream.resume()
  }
}
