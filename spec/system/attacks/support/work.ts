import { performance } from 'node:perf_hooks'

/** The work of a process since its start. */
export interface Work {
  /** The time in which the event loop had work, in ms. */
  readonly activeMs: number
  /** The CPU time that the process got, in ms. */
  readonly cpuMs: number
}

/** The work in ms from which the share is measurable. The system may count CPU time in units of 10 ms. */
const MIN_ACTIVE_MS = 200

/** Returns the work of this process. */
export function workSoFar(): Work {
  const { user, system } = process.cpuUsage()
  return { activeMs: performance.eventLoopUtilization().active, cpuMs: (user + system) / 1_000 }
}

/**
 * Returns the share of its active time in which a process had a CPU, from 0 to 1. The rest of the time, other programs
 * kept the process from running.
 */
export function cpuShare(before: Work, after: Work): number {
  const activeMs = after.activeMs - before.activeMs
  return activeMs < MIN_ACTIVE_MS ? 1 : Math.min(1, (after.cpuMs - before.cpuMs) / activeMs)
}
