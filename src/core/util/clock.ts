/**
 * The only source of time. All code that waits or needs the time takes a clock, so that tests and simulations can
 * replace it.
 */
export interface Clock {
  /** Returns the time of the wall clock, ms since the Unix epoch. The clock may jump. */
  now(): number
  /** Returns the time of the monotonic clock, ms since an arbitrary start. */
  monotonic(): number
  /** Runs `task` once after `delay` ms. Returns a function that cancels the task. */
  schedule(delay: number, task: () => void): () => void
  /**
   * Runs `task` after data that has already arrived is read. Otherwise a deadline could expire although the data has
   * arrived, because a blocked event loop runs timers before it reads. Undefined for a clock without such data.
   */
  afterInput?(task: () => void): void
}

/** The latest time of a `Date`, ms since the Unix epoch. Programs cannot format a later time. */
export const MAX_TIME_MS = 8.64e15

/** Runs a task after the event loop has processed the data that it has read; without Node, after the current task. */
export const afterIo: (task: () => void) => void = typeof setImmediate === 'function' ? setImmediate : queueMicrotask

// For longer delays, setTimeout fires immediately (32-bit overflow).
const MAX_TIMEOUT_MS = 2 ** 31 - 1

export function afterInput(clock: Clock, task: () => void): void {
  if (clock.afterInput) clock.afterInput(task)
  else task()
}

/** The system clock. Its timers keep a Node process alive until they fire or are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delay, task) {
    let timer: ReturnType<typeof setTimeout>
    const arm = (left: number): void => {
      const step = Math.min(Math.max(left, 0), MAX_TIMEOUT_MS)
      timer = setTimeout(() => (left > step ? arm(left - step) : task()), step)
    }
    arm(delay)
    return () => clearTimeout(timer)
  },
  afterInput(task) {
    // The task runs after the phase that reads sockets; browsers use a message queue instead.
    if (typeof setImmediate === 'function') setImmediate(task)
    else {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => {
        port1.close()
        task()
      }
      port2.postMessage(undefined)
    }
  },
}

/** Runs a task after `delay` ms, without keeping the process alive for the task. Returns a function that cancels it. */
export function scheduleUnref(delay: number, task: () => void): () => void {
  const timeout = setTimeout(task, delay)
  const timer: unknown = timeout
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
  return () => clearTimeout(timeout)
}
