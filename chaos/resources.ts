import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The resources of one process after garbage collection. */
export interface Resources {
  /** Bytes of objects. */
  readonly heap: number
  /** Bytes of buffers outside the heap. */
  readonly external: number
  readonly rss: number
  readonly timers: number
  /** Sockets, files and other handles. */
  readonly handles: number
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Collects garbage twice, because finalizers release memory for the second collection, and returns the resources. */
export function resourcesNow(): Resources {
  collectGarbage()
  collectGarbage()
  const { heapUsed, external, rss } = process.memoryUsage()
  const active = process.getActiveResourcesInfo()
  const timers = active.filter(name => name === 'Timeout' || name === 'Immediate').length
  return { heap: heapUsed, external, rss, timers, handles: active.length - timers }
}

/** Returns the resources that keep this process alive and did not exist before. */
export function remainingResources(before: readonly string[]) {
  const left = process.getActiveResourcesInfo()
  for (const name of before) {
    const index = left.indexOf(name)
    if (index >= 0) left.splice(index, 1)
  }
  return left
}
