import { describe, expect, it } from 'vitest'
import { settleWithin, wait } from '../../../src/core/util/wait.js'
import { ManualClock } from '../../support/manual-clock.js'

describe('wait', () => {
  it('resolves after the delay', async () => {
    const clock = new ManualClock()
    let isOver = false
    const waiting = wait(100, clock).then(() => {
      isOver = true
    })
    clock.advance(99)
    await Promise.resolve()
    expect(isOver).toBe(false)
    clock.advance(1)
    await waiting
  })
})

describe('settleWithin', () => {
  it('settles as the promise does, and leaves no timer behind', async () => {
    const clock = new ManualClock()
    await expect(settleWithin(100, clock, Promise.resolve(7))).resolves.toBe(7)
    await expect(settleWithin(100, clock, Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(clock.pending).toBe(0)
  })

  it('resolves with undefined after the timeout', async () => {
    const clock = new ManualClock()
    const settled = settleWithin(100, clock, new Promise(() => undefined))
    clock.advance(100)
    await expect(settled).resolves.toBeUndefined()
  })

  it('gives a function the callback that ends the wait', async () => {
    const clock = new ManualClock()
    let done: (value: number) => void = () => undefined
    const settled = settleWithin<number>(100, clock, resolve => {
      done = resolve
    })
    done(7)
    await expect(settled).resolves.toBe(7)
  })
})
