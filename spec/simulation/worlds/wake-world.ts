import { onWake, WakeCheck } from '../../../src/client/session/wake.js'
import { EventLoop } from './event-loop.js'
import { VirtualTime } from './virtual-time.js'
import { WAKE_FAULTY_MS, type WakeAction, type WakeSchedule } from './wake-schedule.js'

/** Enough time for a check after the last fault, also by throttled timers, in milliseconds. */
const SETTLE_MS = 200_000
/** Enough time for the end of the last sleep, and of the last throttling, in milliseconds. */
const MAX_PAUSE_MS = 130_000
/** A jump of the wall clock that is certainly a wake-up, in milliseconds. */
const CERTAIN_JUMP_MS = 16_000

/** A connection of a machine that sleeps, whose clock is set, and whose timers are throttled. */
export class WakeWorld {
  readonly #time = new VirtualTime()
  readonly #loop = new EventLoop(this.#time, 0)
  readonly #schedule: WakeSchedule
  readonly #violations: string[] = []
  #isAlive = true
  #isDropped = false
  #receivedBytes = 0
  #receivedAt = Number.NEGATIVE_INFINITY
  #pingedAt = 0

  constructor(schedule: WakeSchedule) {
    this.#schedule = schedule
  }

  run(): readonly string[] {
    const clock = this.#loop.clock()
    const link = {
      received: () => this.#receivedBytes,
      ping: () => this.#ping(),
      onDead: () => this.#drop(),
    }
    const check = new WakeCheck(link, clock, this.#schedule.connectTimeoutMs)
    const onJump = (): void => {
      if (!this.#isDropped) check.start()
    }
    const stop = onWake(clock, onJump, () => undefined)
    for (const action of this.#schedule.actions) this.#time.after(action.at, () => this.#perform(action))
    this.#time.runUntil(WAKE_FAULTY_MS + MAX_PAUSE_MS)
    if (!this.#isAlive) this.#loop.stepClock(CERTAIN_JUMP_MS)
    this.#time.runUntil(WAKE_FAULTY_MS + MAX_PAUSE_MS + SETTLE_MS)
    if (!this.#isAlive && !this.#isDropped) this.#complain('the dead link was not dropped')
    check.cancel()
    stop()
    if (this.#loop.timers > 0) this.#complain(`${this.#loop.timers} timers are left at the end`)
    return this.#violations
  }

  #perform(action: WakeAction): void {
    if (action.type === 'step') this.#loop.stepClock(action.by)
    else if (action.type === 'sleep') this.#loop.freeze(action.time, 'timers')
    else if (action.type === 'hide') {
      this.#loop.hide(action.interval)
      this.#time.after(action.time, () => this.#loop.show())
    } else if (action.type === 'data') this.#deliver()
    else this.#isAlive = false
  }

  #ping(): void {
    this.#pingedAt = this.#time.now
    // The comparison of the clocks is scheduled, and the check is not yet.
    if (this.#loop.timers > 1) this.#complain('a check began during another one')
    this.#time.after(2 * this.#schedule.delayMs, () => this.#deliver())
  }

  #deliver(): void {
    if (!this.#isAlive || this.#isDropped) return
    this.#loop.run(() => {
      this.#receivedBytes += 2
      this.#receivedAt = this.#time.now
    })
  }

  #drop(): void {
    this.#isDropped = true
    if (this.#receivedAt > this.#pingedAt) this.#complain('the link on which bytes arrived was dropped')
  }

  #complain(what: string): void {
    this.#violations.push(`${this.#time.now} ms ${what}`)
  }
}
