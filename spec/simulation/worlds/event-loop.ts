import type { Clock } from '../../../src/core/util/clock.js'
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
  #throttled: (() => void)[] = []
  #isHidden = false
  #timerPeriodMs = 0
  /** The number of timers that have neither run nor been cancelled. */
  timers = 0
  #offset: number
  clockWasSet = false

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

  /** Moves the wall clock, as a user or a time server does. */
  stepClock(by: number): void {
    this.setClock(this.#offset + by)
  }

  /** Throttles the timers, as those of a hidden page: they run only at multiples of a time. Messages arrive as ever. */
  hide(timerPeriodMs: number): void {
    this.#isHidden = true
    this.#timerPeriodMs = timerPeriodMs
  }

  /** Ends the throttling, and runs the timers that are due. */
  show(): void {
    this.#isHidden = false
    this.#runThrottled()
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
    const due = (): void => {
      if (end()) task()
    }
    const take = (): void => this.#take({ kind: 'timers', task: due })
    const cancel = clock.schedule(delay, () => {
      if (this.#isHidden) this.#throttle(take)
      else take()
    })
    return () => {
      end()
      cancel()
    }
  }

  #throttle(take: () => void): void {
    this.#throttled.push(take)
    if (this.#throttled.length > 1) return
    const { now } = this.#time
    const next = (Math.floor(now / this.#timerPeriodMs) + 1) * this.#timerPeriodMs
    this.#time.after(next - now, () => this.#runThrottled())
  }

  #runThrottled(): void {
    const due = this.#throttled
    this.#throttled = []
    for (const take of due) take()
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
