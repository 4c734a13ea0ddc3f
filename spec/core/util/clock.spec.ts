import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { clockOf, scheduleUnref, systemClock } from '../../../src/core/util/clock.js'
import { ManualClock } from '../../support/manual-clock.js'

const START = 1_696_374_425_000
const DAY = 86_400_000

describe('systemClock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: START, toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] })
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  it('returns the milliseconds since the Unix epoch', () => {
    expect(systemClock.now()).toBe(START)
    vi.advanceTimersByTime(250)
    expect(systemClock.now()).toBe(START + 250)
  })

  it('has a monotonic time that continues when the wall clock is set back', () => {
    const wall = systemClock.now()
    const before = systemClock.monotonic()
    vi.setSystemTime(START - DAY)
    vi.advanceTimersByTime(40)
    expect(systemClock.now()).toBe(wall - DAY + 40)
    expect(systemClock.monotonic() - before).toBeCloseTo(40, 3)
  })

  it('runs a task once, after the delay has elapsed', () => {
    const task = vi.fn()
    systemClock.schedule(100, task)
    vi.advanceTimersByTime(99)
    expect(task).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(task).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(DAY)
    expect(task).toHaveBeenCalledTimes(1)
  })

  it.each([0, -5])('runs a task with delay %i later, never during the call', delay => {
    const task = vi.fn()
    systemClock.schedule(delay, task)
    expect(task).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(task).toHaveBeenCalledTimes(1)
  })

  it('never runs a cancelled task, and leaves no timer behind', () => {
    const task = vi.fn()
    const cancel = systemClock.schedule(100, task)
    cancel()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(DAY)
    expect(task).not.toHaveBeenCalled()
  })

  it('allows a task to be cancelled after the task ran', () => {
    const task = vi.fn()
    const cancel = systemClock.schedule(10, task)
    vi.advanceTimersByTime(10)
    cancel()
    expect(task).toHaveBeenCalledTimes(1)
  })

  it('cancels only one task', () => {
    const cancelled = vi.fn()
    const task = vi.fn()
    const cancel = systemClock.schedule(10, cancelled)
    systemClock.schedule(10, task)
    cancel()
    vi.advanceTimersByTime(10)
    expect(cancelled).not.toHaveBeenCalled()
    expect(task).toHaveBeenCalledTimes(1)
  })

  // setTimeout supports delays of 31 bits in milliseconds (24.8 days), and fires immediately for longer ones.
  it.each([25, 60, 400])('waits %i days, which is longer than a single timer can wait', days => {
    const task = vi.fn()
    systemClock.schedule(days * DAY, task)
    vi.advanceTimersByTime(days * DAY - 1)
    expect(task).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(task).toHaveBeenCalledTimes(1)
  })

  it('can cancel a long wait after the first of its timers', () => {
    const task = vi.fn()
    const cancel = systemClock.schedule(60 * DAY, task)
    vi.advanceTimersByTime(30 * DAY)
    expect(vi.getTimerCount()).toBe(1)
    cancel()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(60 * DAY)
    expect(task).not.toHaveBeenCalled()
  })

  it('never runs a task with an infinite delay', () => {
    const task = vi.fn()
    systemClock.schedule(Number.POSITIVE_INFINITY, task)
    vi.advanceTimersByTime(400 * DAY)
    expect(task).not.toHaveBeenCalled()
  })
})

describe('timers without a handle on the process', () => {
  it('a task waits 60 days, which is longer than a single timer can wait', () => {
    vi.useFakeTimers({ now: START, toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const task = vi.fn()
    scheduleUnref(60 * DAY, task)
    vi.advanceTimersByTime(60 * DAY - 1)
    expect(task).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(task).toHaveBeenCalledTimes(1)
  })
})

/** Loads the clock as a page does. `deliver` delivers all messages. */
async function inPage() {
  const messages: (() => void)[] = []
  class Channel {
    readonly port1: { onmessage?: () => void } = {}
    readonly port2 = { postMessage: () => messages.push(() => this.port1.onmessage?.()) }
  }
  vi.stubGlobal('setImmediate', undefined)
  vi.stubGlobal('MessageChannel', Channel)
  vi.useFakeTimers({ now: START, toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] })
  vi.resetModules()
  onTestFinished(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    vi.resetModules()
  })
  const page = await import('../../../src/core/util/clock.js')
  const deliver = (): void => {
    for (let message = messages.shift(); message; message = messages.shift()) message()
  }
  return { ...page, deliver }
}

describe('the clock in a page', () => {
  it('a task runs from a message after its timer, so that its own timers begin a new chain', async () => {
    const { systemClock, deliver } = await inPage()
    const order: string[] = []
    systemClock.schedule(100, () => order.push('first'))
    systemClock.schedule(100, () => order.push('second'))
    vi.advanceTimersByTime(100)
    expect(order).toEqual([])
    deliver()
    expect(order).toEqual(['first', 'second'])
  })

  it('a task that is cancelled between its timer and its message never runs', async () => {
    const { systemClock, deliver } = await inPage()
    const task = vi.fn()
    const other = vi.fn()
    const cancel = systemClock.schedule(100, task)
    systemClock.schedule(100, other)
    vi.advanceTimersByTime(100)
    cancel()
    deliver()
    expect(task).not.toHaveBeenCalled()
    expect(other).toHaveBeenCalledTimes(1)
  })

  it('a task that throws does not stop the tasks after it', async () => {
    const { systemClock, deliver } = await inPage()
    const task = vi.fn()
    systemClock.schedule(1, () => {
      throw new Error('oops')
    })
    systemClock.schedule(1, task)
    vi.advanceTimersByTime(1)
    expect(deliver).toThrow('oops')
    systemClock.schedule(1, () => undefined)
    vi.advanceTimersByTime(1)
    deliver()
    expect(task).toHaveBeenCalledTimes(1)
  })

  it('the tasks of a caller’s clock also run from messages', async () => {
    const { clockOf, deliver } = await inPage()
    const own = new ManualClock()
    const clock = clockOf(own)
    const task = vi.fn()
    clock.schedule(100, task)
    own.advance(100)
    expect([clock.now(), clock.monotonic()]).toEqual([own.now(), own.monotonic()])
    expect(task).not.toHaveBeenCalled()
    deliver()
    expect(task).toHaveBeenCalledTimes(1)
  })

  it('outside of pages, the clock of a caller is used as it is', () => {
    const own = new ManualClock()
    expect(clockOf(own)).toBe(own)
    expect(clockOf()).toBe(systemClock)
  })
})
