import { readdirSync, readFileSync } from 'node:fs'

/**
 * Time a process has spent on a processor, all its threads, ms; `NaN` where the system (none but Linux) does not tell. It
 * depends less than the time on the clock on what else the machine does.
 *
 * @param {number} pid
 */
export function cpuTime(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return threads.reduce((sum, thread) => sum + nanoseconds(`/proc/${pid}/task/${thread}/schedstat`), 0) / 1e6
  } catch {
    return Number.NaN
  }
}

/** @param {string} path */
const nanoseconds = path => Number(readFileSync(path, 'latin1').split(' ')[0])
