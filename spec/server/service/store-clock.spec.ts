import { describe, expect, it } from 'vitest'
import { HOLDOVER_MS, StoreClock } from '../../../src/server/service/store-clock.js'
import { ManualClock, START } from '../../support/manual-clock.js'

const HOUR = 3_600_000

const open = () => {
  const machine = new ManualClock()
  return { machine, clock: new StoreClock(machine) }
}

describe('StoreClock', () => {
  it('follows the wall clock, also when it is set forward', () => {
    const { machine, clock } = open()
    machine.advance(5)
    expect(clock.now()).toBe(START + 5)
    machine.jump(HOUR)
    expect([clock.now(), clock.setBackMs]).toEqual([START + 5 + HOUR, 0])
  })

  it('corrects a step back of at most a minute without decreasing', () => {
    const { machine, clock } = open()
    machine.jump(-1_000)
    machine.advance(800)
    expect([clock.now(), clock.setBackMs]).toEqual([START + 700, 0])
    machine.advance(7_200)
    expect(clock.now()).toBe(START + 7_000)
    machine.advance(1)
    expect(clock.now()).toBe(machine.now())
  })

  it('continues for an hour after a larger jump back, and then an eighth more slowly', () => {
    const { machine, clock } = open()
    machine.jump(-HOUR)
    machine.advance(HOLDOVER_MS - 1)
    // The hour begins when the jump is detected.
    expect([clock.now(), clock.setBackMs]).toEqual([START + HOLDOVER_MS - 1, HOUR])
    machine.advance(HOLDOVER_MS - 1)
    expect(clock.now()).toBe(START + 2 * HOLDOVER_MS - 2)
    machine.advance(80_000)
    expect(clock.now()).toBe(START + 2 * HOLDOVER_MS - 2 + 70_000)
    machine.advance(8 * HOUR)
    expect([clock.now(), clock.setBackMs]).toEqual([machine.now(), 0])
  })

  it('steps back of less than a minute add up to a jump', () => {
    const { machine, clock } = open()
    for (const _ of [1, 2]) {
      machine.jump(-40_000)
      clock.now()
    }
    expect([clock.now(), clock.setBackMs]).toEqual([START, 80_000])
  })

  it('ends the correction when the wall clock is set right', () => {
    const { machine, clock } = open()
    machine.jump(-HOUR)
    expect(clock.setBackMs).toBe(HOUR)
    machine.jump(HOUR)
    expect([clock.now(), clock.setBackMs]).toEqual([START, 0])
  })

  it('continues from the last known time of a log, unless clients may have pushed it ahead', () => {
    const { machine, clock } = open()
    clock.continueFrom(START + 60_000)
    expect(clock.now()).toBe(START)
    clock.continueFrom(START + HOUR)
    machine.advance(7)
    expect([clock.now(), clock.setBackMs]).toEqual([START + HOUR + 7, HOUR])
    clock.reset()
    expect([clock.now(), clock.setBackMs]).toEqual([START + 7, 0])
  })

  it('never decreases while the wall clock jumps', () => {
    const { machine, clock } = open()
    let last = clock.now()
    for (const ms of [-HOUR, 120_000, -59_999, HOUR, -24 * HOUR, 30 * HOUR, -1]) {
      machine.jump(ms)
      for (const passed of [0, 1, 60_000, HOUR]) {
        machine.advance(passed)
        expect(clock.now()).toBeGreaterThanOrEqual(last)
        last = clock.now()
      }
    }
  })
})
