import { readFileSync } from 'node:fs'

/**
 * The largest resident set size that this process ever had, bytes.
 *
 * Not `process.resourceUsage().maxRSS`: Linux keeps that across `execve`, so a child starts with its parent's.
 */
export function peakMemory(): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  if (kib === undefined) throw new Error('/proc/self/status has no VmHWM')
  return Number(kib) * 1024
}
