import { getHeapStatistics } from 'node:v8'
import type { QuotaOptions } from '../server/host/quotas.js'
import type { EventLog } from './event-log.js'

const MIB = 1024 * 1024

/**
 * Warns if the given limit on memory exceeds the heap limit of Node, at which the process crashes. Small values and all
 * keys are on the heap. The default limit is below the heap limit.
 *
 * @param heapBytes - heap limit in bytes. Default: that of this process.
 */
export function warnBeyondHeap(
  { maxMemory, maxBytes }: Pick<QuotaOptions, 'maxMemory' | 'maxBytes'>,
  log: Pick<EventLog, 'write'>,
  heapBytes: number = getHeapStatistics().heap_size_limit,
): void {
  const [flag, bytes = 0] = maxMemory === undefined ? ['--max-bytes', maxBytes] : ['--max-memory', maxMemory]
  if (bytes <= heapBytes) return
  const message =
    `warning: ${flag} ${bytes} exceeds the heap limit of Node (${Math.floor(heapBytes / MIB)} MiB), at which the store ` +
    `crashes instead of rejecting writes: start it with node --max-old-space-size=${Math.ceil(bytes / MIB)}, or lower ${flag}`
  log.write('warn', 'memory', message)
}
