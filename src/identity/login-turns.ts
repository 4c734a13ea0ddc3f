import type { Clock } from '../base/clock.js'
import { networkOf } from '../base/network.js'

/** Logins of one address that are under way at once; with more, guesses would be made before any of them has failed. */
const MOST_AT_ONCE = 16

/** One that takes longer, ms, keeps nobody waiting any more: its connection is gone by then. */
const LONGEST_LOGIN = 10_000

interface Line {
  busy: number
  readonly waiting: (() => void)[]
}

/** Lets the logins of one address wait for each other, those of different addresses not. */
export class LoginTurns {
  readonly #clock: Clock
  readonly #lines = new Map<string, Line>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Does a task when it is its turn. As many wait as there are connections of the address. */
  async run<T>(address: string, task: () => Promise<T>): Promise<T> {
    const name = networkOf(address)
    const line = this.#lines.get(name) ?? { busy: 0, waiting: [] }
    this.#lines.set(name, line)
    if (line.busy < MOST_AT_ONCE) line.busy++
    else await new Promise<void>(resolve => line.waiting.push(resolve))
    let left = false
    const leave = (): void => {
      if (left) return
      left = true
      this.#leave(name, line)
    }
    const cancel = this.#clock.schedule(LONGEST_LOGIN, leave)
    try {
      return await task()
    } finally {
      cancel()
      leave()
    }
  }

  #leave(name: string, line: Line): void {
    const next = line.waiting.shift()
    if (next) next()
    else if (--line.busy === 0) this.#lines.delete(name)
  }
}
