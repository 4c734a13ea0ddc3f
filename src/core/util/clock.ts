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

/** Runs a task after an `await` with which the caller continues, because an `await` calls `then` in a microtask. */
export const afterAwait = (task: () => void): void => queueMicrotask(() => queueMicrotask(task))

/** The longest delay of a platform timer, ms. Longer ones overflow 32 bits and fire immediately. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1

const posted: (() => void)[] = []
let port: MessagePort | undefined

/** Runs a task from a message, or from the event loop of Node after the phase that reads sockets. */
function post(task: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(task)
  else if (typeof MessageChannel !== 'function') queueMicrotask(task)
  else {
    posted.push(task)
    port ??= openPort()
    port.postMessage(0)
  }
}

function openPort(): MessagePort {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => posted.shift()?.()
  return port2
}

type Schedule = Clock['schedule']

/**
 * Runs the tasks of a page's timers from messages. A page that has been hidden for minutes runs a timer that a chain of
 * timers has set only once a minute, which delays everything that a task does with timers, and even the writes of
 * mqtt.js. A message starts a new chain.
 */
const endTimerChains =
  (schedule: Schedule): Schedule =>
  (delay, task) => {
    if (typeof setImmediate === 'function') return schedule(delay, task)
    let isCancelled = false
    const cancel = schedule(delay, () =>
      post(() => {
        if (!isCancelled) task()
      }),
    )
    return () => {
      isCancelled = true
      cancel()
    }
  }

/** Starts a timer of any length. Returns a function that cancels it. */
function startTimer(delay: number, task: () => void, unref?: (timer: unknown) => void): () => void {
  let timer: ReturnType<typeof setTimeout>
  const arm = (left: number): void => {
    const step = Math.min(Math.max(left, 0), MAX_TIMEOUT_MS)
    timer = setTimeout(() => (left > step ? arm(left - step) : task()), step)
    unref?.(timer)
  }
  arm(delay)
  return () => clearTimeout(timer)
}

export function afterInput(clock: Clock, task: () => void): void {
  if (clock.afterInput) clock.afterInput(task)
  else task()
}

/** The system clock. Its timers keep a Node process alive until they fire or are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule: endTimerChains(startTimer),
  afterInput: post,
}

/** Returns an option's clock, whose tasks do not prolong a page's chains of timers. Default: the system clock. */
export const clockOf = (clock: Clock = systemClock): Clock =>
  clock === systemClock || typeof setImmediate === 'function'
    ? clock
    : {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        schedule: endTimerChains((delay, task) => clock.schedule(delay, task)),
        afterInput: task => afterInput(clock, task),
      }

/** Runs a task after `delay` ms, without keeping the process alive for the task. Returns a function that cancels it. */
export function scheduleUnref(delay: number, task: () => void): () => void {
  return startTimer(delay, task, timer => {
    if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
      timer.unref()
  })
}
