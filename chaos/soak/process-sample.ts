import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The resources of one process after garbage collection. */
export interface ProcessSample {
  /** Bytes of objects and of buffers outside the heap. */
  readonly heap: number
  readonly rss: number
  readonly timers: number
  /** Sockets, files and other handles. */
  readonly handles: number
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Collects garbage twice, because finalizers release memory for the second collection, and returns the resources. */
export function sampleProcess(): ProcessSample {
  collectGarbage()
  collectGarbage()
  const { heapUsed, external, rss } = process.memoryUsage()
  const active = process.getActiveResourcesInfo()
  const timers = active.filter(name => name === 'Timeout' || name === 'Immediate').length
  return { heap: heapUsed + external, rss, timers, handles: active.length - timers }
}

export const sumOf = (samples: readonly ProcessSample[]): ProcessSample => ({
  heap: samples.reduce((sum, { heap }) => sum + heap, 0),
  rss: samples.reduce((sum, { rss }) => sum + rss, 0),
  timers: samples.reduce((sum, { timers }) => sum + timers, 0),
  handles: samples.reduce((sum, { handles }) => sum + handles, 0),
})

/** Returns the bytes that the files of a directory occupy on the disk. */
export function directoryBytes(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
  return files
    .filter(file => file.isFile())
    .reduce((sum, { parentPath, name }) => sum + blocksOf(join(parentPath, name)), 0)
}

/** Returns the bytes of a file, which may have been removed since it was listed. */
const blocksOf = (path: string) => 512 * (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0)
