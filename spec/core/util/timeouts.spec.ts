import { describe, expect, it } from 'vitest'
import { Timeouts } from '../../../src/core/util/timeouts.js'
import { ManualClock } from '../../support/manual-clock.js'

function build() {
  const clock = new ManualClock()
  const start = clock.monotonic()
  const told: string[] = []
  const timeouts = new Timeouts<string>(clock, item => told.push(`${item} at ${clock.monotonic() - start}`))
  return { clock, told, timeouts, add: (at: number, item: string) => timeouts.add(start + at, item) }
}

describe('Timeouts', () => {
  it('tell of every item at its time, the earliest first, with one timer', () => {
    const { clock, told, add } = build()
    add(30, 'c')
    add(10, 'a')
    add(20, 'b')
    expect(clock.pending).toBe(1)
    clock.advance(100)
    expect(told).toEqual(['a at 10', 'b at 20', 'c at 30'])
  })

  it('tell nothing of an item that was removed', () => {
    const { clock, told, timeouts, add } = build()
    timeouts.remove(add(10, 'a'))
    add(20, 'b')
    clock.advance(100)
    expect(told).toEqual(['b at 20'])
  })

  it('leave no timer behind when all are removed, and take items again', () => {
    const { clock, told, timeouts, add } = build()
    timeouts.remove(add(10, 'a'))
    expect(clock.pending).toBe(0)
    add(20, 'b')
    clock.advance(20)
    expect([told, clock.pending]).toEqual([['b at 20'], 0])
  })

  it('may be given items by what they call', () => {
    const clock = new ManualClock()
    let left = 3
    const timeouts: Timeouts<number> = new Timeouts(clock, at => {
      if (--left > 0) timeouts.add(at + 10, at + 10)
    })
    timeouts.add(clock.monotonic(), clock.monotonic())
    clock.advance(20)
    expect([left, clock.pending]).toEqual([0, 0])
  })
})
