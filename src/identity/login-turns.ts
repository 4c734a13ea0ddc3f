import { networkOf } from '../base/network.js'

/** Logins of one address that are under way at once; with more, guesses would be made before any of them has failed. */
const MOST_AT_ONCE = 16

interface Line {
  busy: number
  readonly waiting: (() => void)[]
}

/** Lets the logins of one address wait for each other, those of different addresses not. */
export class LoginTurns {
  readonly #lines = new Map<string, Line>()

  /** Does a task when it is its turn. As many wait as there are connections of the address. */
  async run<T>(address: string, task: () => Promise<T>): Promise<T> {
    const name = networkOf(address)
    const line = this.#lines.get(name) ?? { busy: 0, waiting: [] }
    this.#lines.set(name, line)
    if (line.busy < MOST_AT_ONCE) line.busy++
    else await new Promise<void>(resolve => line.waiting.push(resolve))
    try {
      return await task()
    } finally {
      this.#leave(name, line)
    }
  }

  #leave(name: string, line: Line): void {
    const next = line.waiting.shift()
    if (next) next()
    else if (--line.busy === 0) this.#lines.delete(name)
  }
}
