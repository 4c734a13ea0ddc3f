import type { Unsubscribable } from 'rxjs'
import type { StateStoreError } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import type { Reading } from '../requests/commands.js'
import { isLasting } from '../watch/lasting.js'

/** ms until a read that failed is tried again. */
const PAUSE = 1_000

/** Reads a key for those who doubt, as often as it takes, whenever there is a connection. */
export class Reader {
  readonly #source: KeySource<unknown>
  readonly #timeout: number
  readonly #asking: () => (reading: Reading) => void
  #wanted = false
  #up = false
  #request: Unsubscribable | undefined
  #pause: (() => void) | undefined

  /** @param asking - called when a read is sent; what it returns takes the answer */
  constructor(source: KeySource<unknown>, timeout: number, asking: () => (reading: Reading) => void) {
    this.#source = source
    this.#timeout = timeout
    this.#asking = asking
  }

  /** Asks for a read that is sent from now on; one under way is older. */
  want(): void {
    this.#wanted = true
    this.#cancel()
    if (this.#up) this.#send()
  }

  /** Whether there is a connection. */
  link(isUp: boolean): void {
    this.#up = isUp
    this.#cancel()
    if (isUp && this.#wanted) this.#send()
  }

  stop(): void {
    this.#wanted = false
    this.#cancel()
  }

  #send(): void {
    const { host, key } = this.#source
    const answered = this.#asking()
    this.#request = host.store.read(key, this.#timeout).subscribe({
      next: reading => {
        this.#wanted = false
        answered(reading)
      },
      error: (error: StateStoreError) => this.#failed(error),
    })
  }

  #failed(error: StateStoreError): void {
    const { registry } = this.#source.host
    // The watch ends by what lasts, and all that waits with it.
    if (!isLasting(error))
      this.#pause = registry.clock.schedule(PAUSE, () => {
        if (this.#up && this.#wanted) this.#send()
      })
    // Last, for who is told may leave.
    registry.report(error)
  }

  #cancel(): void {
    this.#request?.unsubscribe()
    this.#pause?.()
    this.#request = undefined
    this.#pause = undefined
  }
}
