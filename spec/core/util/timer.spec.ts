import { describe, expect, it } from 'vitest'
import { Timer } from '../../../src/core/util/timer.js'
import { ManualClock } from '../../support/manual-clock.js'

function open() {
  const clock = new ManualClock()
  const ran: string[] = []
  const timer = new Timer(clock, { initial: 100, max: 400, random: () => 1 })
  return { clock, ran, timer, task: (name: string) => () => ran.push(`${name} ${timer.isSet}`) }
}

describe('Timer', () => {
  it('runs a task once, and is not set while the task runs', () => {
    const { clock, ran, timer, task } = open()
    timer.set(100, task('a'))
    expect(timer.isSet).toBe(true)
    clock.advance(99)
    expect(ran).toEqual([])
    clock.advance(1_000)
    expect(ran).toEqual(['a false'])
  })

  it('runs the last of several tasks', () => {
    const { clock, ran, timer, task } = open()
    timer.set(100, task('a'))
    timer.set(200, task('b'))
    clock.advance(1_000)
    expect(ran).toEqual(['b false'])
  })

  it('runs no task after it was cancelled', () => {
    const { clock, ran, timer, task } = open()
    timer.set(100, task('a'))
    timer.cancel()
    clock.advance(1_000)
    expect([ran, timer.isSet]).toEqual([[], false])
  })

  it('doubles the delay of retries up to the maximum, until a success', () => {
    const { clock, ran, timer, task } = open()
    for (const delayMs of [100, 200, 400, 400]) {
      timer.retry(task('retry'))
      clock.advance(delayMs - 1)
      expect(timer.isSet).toBe(true)
      clock.advance(1)
      expect(timer.isSet).toBe(false)
    }
    timer.reset()
    timer.retry(task('retry'))
    clock.advance(100)
    expect(ran).toHaveLength(5)
  })

  it('counts failures while a retry is pending as one, and runs the first task', () => {
    const { clock, ran, timer, task } = open()
    timer.retry(task('a'))
    timer.retry(task('b'))
    clock.advance(100)
    timer.retry(task('c'))
    clock.advance(200)
    expect(ran).toEqual(['a false', 'c false'])
  })
})
