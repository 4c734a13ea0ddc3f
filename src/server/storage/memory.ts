import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

const MOST = 1024 ** 3

/**
 * How much a store may keep by default, bytes: 1 GiB, or half of the heap that Node may use (`--max-old-space-size`),
 * or a quarter of the memory of the machine, or of the container, whichever is least. What lies besides the keys, and
 * what the garbage collector needs to work, has to find room as well.
 */
export function defaultMaxBytes(): number {
  // No limit is told as 0 or as a very large number.
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return Math.floor(Math.min(MOST, getHeapStatistics().heap_size_limit / 2, memory / 4))
}
