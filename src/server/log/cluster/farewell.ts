import type { Clock } from '../../../core/util/clock.js'

/** Waits until somebody says that it is over, or for a while at most. */
export class Farewell {
  readonly over: Promise<void>
  #end: () => void = () => undefined

  /** @param patience - ms */
  constructor(clock: Clock, patience: number) {
    this.over = new Promise(resolve => {
      const cancel = clock.schedule(patience, resolve)
      this.#end = () => {
        cancel()
        resolve()
      }
    })
  }

  end(): void {
    this.#end()
  }
}
