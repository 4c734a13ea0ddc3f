import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

function collect(): void {
  setFlagsFromString('--expose-gc')
  const collector: unknown = runInNewContext('gc')
  if (typeof collector !== 'function') throw new Error('garbage collection is not available')
  collector()
}

/** Returns the bytes that are still reachable after a garbage collection. */
export async function usedBytes(): Promise<number> {
  collect()
  // External memory is released in a later turn of the event loop.
  await new Promise(resolve => setImmediate(resolve))
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** A counter of observed objects that are still reachable. */
export class Witness {
  readonly #seen: WeakRef<object>[] = []

  see<T extends object>(object: T): T {
    this.#seen.push(new WeakRef(object))
    return object
  }

  /**
   * Returns how many observed objects are still reachable after a garbage collection. The collection runs in a later
   * job, because an object lives at least until the end of the job that used it.
   */
  async alive(): Promise<number> {
    await new Promise(resolve => setImmediate(resolve))
    collect()
    return this.#seen.filter(seen => seen.deref() !== undefined).length
  }
}
