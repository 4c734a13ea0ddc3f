import type { Clock } from '../../src/core/util/clock.js'
import type { VirtualTime } from './virtual-time.js'

/** The kind of events that a frozen process handles first when it resumes. */
export type ResumeOrder = 'timers' | 'messages'

interface DelayedTask {
  readonly kind: ResumeOrder
  readonly task: () => void
}

/** The event loop of one client. While it is frozen, as by SIGSTOP or a long computation, it runs nothing. */
export class EventLoop {
  readonly #time: VirtualTime
  readonly #rate: number
  #delayed: DelayedTask[] = []
  #frozen = false
  /** The number of timers that have neither run nor been cancelled. */
  timers = 0
  #offset: number
  clockWasSet = false
  /** If positive, timers run only at multiples of this time, as those of a hidden page do, ms. */
  timerPeriodMs = 0

  /** @param rate - the rate of the client's clocks relative to other clocks */
  constructor(time: VirtualTime, offset: number, rate = 1) {
    this.#time = time
    this.#offset = offset
    this.#rate = rate
  }

  get isFrozen(): boolean {
    return this.#frozen
  }

  setClock(offset: number): void {
    this.#offset = offset
    this.clockWasSet = true
  }

  /** Runs a task of the client, or queues the task while the loop is frozen. */
  readonly run = (task: () => void): void => this.#take({ kind: 'messages', task })

  /** Freezes the loop temporarily. Then runs all overdue tasks in order, starting with one kind. */
  freeze(duration: number, first: ResumeOrder): void {
    if (this.#frozen) return
    this.#frozen = true
    this.#time.after(duration, () => this.#resume(first))
  }

  clock(): Clock {
    const clock = this.#time.clock(this.#rate)
    return {
      now: () => clock.now() + this.#offset,
      monotonic: () => clock.monotonic(),
      schedule: (delay, task) => this.#schedule(clock, delay, task),
    }
  }

  #schedule(clock: Clock, delay: number, task: () => void): () => void {
    let live = true
    const end = (): boolean => {
      const ended = live
      this.timers -= Number(live)
      live = false
      return ended
    }
    this.timers++
    const { timerPeriodMs } = this
    const at = clock.monotonic() + delay
    const wait = timerPeriodMs > 0 ? (Math.floor(at / timerPeriodMs) + 1) * timerPeriodMs - clock.monotonic() : delay
    const due = (): void => {
      if (end()) task()
    }
    const cancel = clock.schedule(wait, () => this.#take({ kind: 'timers', task: due }))
    return () => {
      end()
      cancel()
    }
  }

  #take(late: DelayedTask): void {
    if (this.#frozen) this.#delayed.push(late)
    else late.task()
  }

  #resume(first: ResumeOrder): void {
    this.#frozen = false
    const late = this.#delayed
    this.#delayed = []
    for (const { kind, task } of late) if (kind === first) task()
    for (const { kind, task } of late) if (kind !== first) task()
  }
}
