import { readdirSync, readFileSync } from 'node:fs'

/**
 * Returns the CPU time of all threads of a process, ms; `NaN` on systems other than Linux. Other load on the machine
 * affects CPU time less than elapsed time.
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
