/**
 * The only way to time: everything that waits or asks for the time takes a clock, so that tests and simulations can
 * stand in for it.
 */
export interface Clock {
  /** Wall clock: milliseconds since the Unix epoch. May jump. */
  now(): number
  /** Milliseconds that never go backwards, from an arbitrary start. */
  monotonic(): number
  /** Runs `task` once after `delay` ms; the returned function cancels it. */
  schedule(delay: number, task: () => void): () => void
  /**
   * Runs `task` once what has arrived by now has been read, without which a deadline may be over though what it waits for
   * is there: a loop that was blocked runs its timers before it reads. Missing where nothing waits to be read.
   */
  afterInput?(task: () => void): void
}

/** Runs a task as soon as what the event loop has read is worked off; without Node, after the task that runs now. */
export const afterIo: (task: () => void) => void = typeof setImmediate === 'function' ? setImmediate : queueMicrotask

// Longer delays make setTimeout fire at once (32-bit overflow).
const LONGEST_TIMEOUT = 2 ** 31 - 1

/** See {@link Clock.afterInput}; at once where nothing waits to be read. */
export function afterInput(clock: Clock, task: () => void): void {
  if (clock.afterInput) clock.afterInput(task)
  else task()
}

/** The machine's clock. Its timers keep a Node process alive until they fire or are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delay, task) {
    let timer: ReturnType<typeof setTimeout>
    const arm = (left: number): void => {
      const step = Math.min(Math.max(left, 0), LONGEST_TIMEOUT)
      timer = setTimeout(() => (left > step ? arm(left - step) : task()), step)
    }
    arm(delay)
    return () => clearTimeout(timer)
  },
  afterInput(task) {
    // Behind the turn in which sockets are read; browsers have a queue for it.
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

/** Runs a task after so many ms, unless the process has nothing else to do until then, and ends. */
export function unlessDone(delay: number, task: () => void): void {
  const timer: unknown = setTimeout(task, delay)
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
}
