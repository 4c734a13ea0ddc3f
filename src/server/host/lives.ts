import type { Opened, Storage } from '../storage/storage.js'
import type { Door } from './door.js'
import type { Life } from './life.js'
import type { ServeOptions } from './options.js'
import { begin, KEPT, type Outlets } from './outlets.js'
import type { RestartOptions } from './running-store.js'

/** One life of a store after the other, on what is kept of it. */
export class Lives {
  /** For the next one, which listens on the same ports. */
  options: Required<ServeOptions>
  readonly #outlets: Outlets
  readonly #storage: Storage
  readonly #door: Door
  readonly #over: () => void
  #opened: Opened
  #life: Life
  #restarting = false
  #settled: Promise<void> = Promise.resolve()

  /** @param over - called when a life ends for another one */
  constructor(
    options: Required<ServeOptions>,
    outlets: Outlets,
    storage: Storage,
    door: Door,
    opened: Opened,
    life: Life,
    over: () => void,
  ) {
    this.options = { ...options, port: life.broker.port, wsPort: life.broker.wsPort }
    this.#outlets = outlets
    this.#storage = storage
    this.#door = door
    this.#opened = opened
    this.#life = life
    this.#over = over
  }

  /** The one that is lived. */
  get life(): Life {
    return this.#life
  }

  /** What it has. */
  get opened(): Opened {
    return this.#opened
  }

  get restarting(): boolean {
    return this.#restarting
  }

  /** Settles when the last restart is done. */
  get settled(): Promise<void> {
    return this.#settled
  }

  /** Ends this life and begins another, when restarts before are done. */
  restart(keys: RestartOptions['keys']): Promise<void> {
    const restarted = this.#settled.then(() => this.#restart(keys))
    // The caller is told; the next one may try.
    this.#settled = restarted.catch(() => undefined)
    return restarted
  }

  async #restart(keys: RestartOptions['keys']): Promise<void> {
    this.#over()
    this.#restarting = true
    try {
      const drift = this.#opened.engine.drift(this.options.clock.now())
      await this.#life.die()
      this.#opened = await (keys === 'lost' ? this.#storage.openEmpty() : this.#storage.open())
      this.#outlets.storage$.next(KEPT)
      if (keys === 'lost' && drift > 0) this.#outlets.drift$.next(0)
      this.#life = await begin(this.options, this.#outlets, this.#opened, this.#door)
    } finally {
      this.#restarting = false
    }
  }
}
