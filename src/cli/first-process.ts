import { constants } from 'node:os'

type Process = Pick<NodeJS.Process, 'pid' | 'on' | 'listenerCount' | 'exit'>

/**
 * Ends the first process of a container on SIGTERM or SIGINT while no command handles them. The kernel does this for
 * all other processes, but ignores such a signal for a process with the pid 1 (Linux, pid_namespaces(7)).
 */
export function endOnUnhandledSignals(process: Process): void {
  if (process.pid !== 1) return
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
    })
  }
}
