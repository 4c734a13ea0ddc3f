import { readFileSync } from 'node:fs'

/**
 * Returns the largest resident set size that this process has ever had, in bytes.
 *
 * `process.resourceUsage().maxRSS` is not used, because Linux keeps this value across `execve`, so that a child starts
 * with the value of its parent.
 */
export function peakMemory(): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  if (kib === undefined) throw new Error('/proc/self/status has no VmHWM')
  return Number(kib) * 1024
}
