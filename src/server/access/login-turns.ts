import type { Clock } from '../../core/util/clock.js'
import type { Deadline } from '../../core/util/deadlines.js'
import { Timeouts } from '../../core/util/timeouts.js'
import { networkOf } from '../../node/limits/network.js'
import { LoginLine, type Waiter } from './login-line.js'

/** Logins of one address that are under way at once; with more, guesses would be made before any of them has failed. */
const MOST_AT_ONCE = 16
/** One that takes longer no longer keeps others waiting, ms; it goes on for as long as its connection has. */
const LONGEST_TURN = 1_000
/** Who has waited longer is refused, ms: of the ten seconds that a connection has, some are for the login itself. */
const LONGEST_WAIT = 5_000
/** Who wait at one address, and at all of them. */
const MOST_WAITING = 1_000
const MOST_WAITING_IN_ALL = 10_000

/** Why a login got no turn: `rate`, there are too many of its address; `busy`, of all; `gone`, nobody wants it any more. */
export type NoTurn = 'rate' | 'busy' | 'gone'

interface Place extends Waiter {
  readonly settle: (refused: NoTurn | undefined) => void
  deadline: Deadline<() => void> | undefined
}

interface Address {
  readonly network: string
  readonly line: LoginLine<Place>
  busy: number
}

/**
 * Lets the logins of one address wait for each other, those of different addresses not. Nobody waits without an end, and
 * not more than there is room for.
 *
 * @example
 * ```ts
 * const outcome = await turns.run('192.0.2.1', 'panel', async () => login())
 * if (outcome === 'rate' || outcome === 'busy') refuse(outcome)
 * ```
 */
export class LoginTurns {
  readonly #clock: Clock
  readonly #timeouts: Timeouts<() => void>
  readonly #addresses = new Map<string, Address>()
  readonly #maxAtOnce: number
  #waiting = 0

  /** @param maxAtOnce - logins of one address that are under way at once */
  constructor(clock: Clock, maxAtOnce = MOST_AT_ONCE) {
    this.#maxAtOnce = maxAtOnce
    this.#clock = clock
    this.#timeouts = new Timeouts(clock, due => due())
  }

  /**
   * Does a task when it is its turn; or says at once, or later, why it gets none.
   *
   * @param name - of the user
   * @param signal - aborted when nobody wants it any more
   */
  async run<T extends object>(
    address: string,
    name: string,
    task: () => Promise<T>,
    signal?: AbortSignal | undefined,
  ): Promise<T | NoTurn> {
    const network = networkOf(address)
    const known = this.#addresses.get(network) ?? { network, line: new LoginLine(), busy: 0 }
    this.#addresses.set(network, known)
    if (known.busy < this.#maxAtOnce) known.busy++
    else {
      const refused = await this.#turn(known, name, signal)
      if (refused !== undefined) return refused
    }
    let left = false
    const leave = (): void => {
      if (left) return
      left = true
      this.#leave(known)
    }
    const deadline = this.#in(LONGEST_TURN, leave)
    try {
      return await task()
    } finally {
      this.#timeouts.remove(deadline)
      leave()
    }
  }

  #turn({ line }: Address, name: string, signal: AbortSignal | undefined): Promise<NoTurn | undefined> {
    if (line.size >= MOST_WAITING) {
      const yielding = line.yielding(name)
      if (yielding === undefined) return Promise.resolve('rate')
      this.#dismiss(line, yielding, 'rate')
    }
    if (this.#waiting >= MOST_WAITING_IN_ALL) return Promise.resolve('busy')
    return new Promise(resolve => {
      const leave = (): void => this.#dismiss(line, place, 'gone')
      const settle = (refused: NoTurn | undefined): void => {
        signal?.removeEventListener('abort', leave)
        resolve(refused)
      }
      const place: Place = { name, settle, deadline: undefined }
      place.deadline = this.#in(LONGEST_WAIT, () => this.#dismiss(line, place, 'rate'))
      signal?.addEventListener('abort', leave)
      line.add(place)
      this.#waiting++
    })
  }

  #dismiss(line: LoginLine<Place>, place: Place, refused: NoTurn): void {
    line.delete(place)
    this.#end(place, refused)
  }

  #leave(address: Address): void {
    const next = address.line.next()
    if (next !== undefined) this.#end(next, undefined)
    else if (--address.busy === 0) this.#addresses.delete(address.network)
  }

  #end(place: Place, refused: NoTurn | undefined): void {
    this.#waiting--
    if (place.deadline) this.#timeouts.remove(place.deadline)
    place.settle(refused)
  }

  #in(ms: number, due: () => void): Deadline<() => void> {
    return this.#timeouts.add(this.#clock.monotonic() + ms, due)
  }
}
