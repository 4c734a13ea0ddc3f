import { onTestFinished, vi } from 'vitest'

/**
 * Stops the monotonic clock of the machine until the end of the test, so that no pause ends while a slow machine runs
 * the test. Timers still run.
 */
export function stopMonotonicTime(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}
