import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Counts those of the objects shown to it that something still holds. */
export class Witness {
  readonly #seen: WeakRef<object>[] = []

  see<T extends object>(object: T): T {
    this.#seen.push(new WeakRef(object))
    return object
  }

  /** Collects garbage first. An object lives at least as long as the job in which it was seen, hence a later one. */
  async alive(): Promise<number> {
    setFlagsFromString('--expose-gc')
    const collect: unknown = runInNewContext('gc')
    if (typeof collect !== 'function') throw new Error('this Node cannot be told to collect garbage')
    await new Promise(resolve => setImmediate(resolve))
    collect()
    return this.#seen.filter(seen => seen.deref() !== undefined).length
  }
}
