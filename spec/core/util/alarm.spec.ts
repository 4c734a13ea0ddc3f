import { describe, expect, it } from 'vitest'
import { Alarm } from '../../../src/core/util/alarm.js'
import { ManualClock } from '../../support/manual-clock.js'

const NEVER = Number.POSITIVE_INFINITY

function build() {
  const clock = new ManualClock()
  const start = clock.monotonic()
  const rung: number[] = []
  const alarm = new Alarm(clock, () => rung.push(clock.monotonic() - start))
  return { clock, rung, alarm, set: (at: number) => alarm.set(start + at) }
}

describe('An alarm', () => {
  it('rings once, at its time', () => {
    const { clock, rung, set } = build()
    set(50)
    clock.advance(49)
    expect(rung).toEqual([])
    clock.advance(1_000)
    expect(rung).toEqual([50])
  })

  it('rings at the earliest of several times, with one timer', () => {
    const { clock, rung, set } = build()
    for (const at of [50, 80, 20, 30]) set(at)
    expect(clock.pending).toBe(1)
    clock.advance(1_000)
    expect(rung).toEqual([20])
  })

  it('is not put off: it rather rings too early, and needs no other timer for that', () => {
    const { clock, rung, set } = build()
    set(20)
    for (let at = 21; at < 1_000; at++) set(at)
    expect(clock.scheduled).toBe(1)
    clock.advance(1_000)
    expect(rung).toEqual([20])
  })

  it('rings for what is due already as soon as may be, not at once', () => {
    const { clock, rung, set } = build()
    set(-10)
    expect(rung).toEqual([])
    clock.advance(0)
    expect(rung).toEqual([0])
  })

  it('does not ring for never, and leaves no timer behind', () => {
    const { clock, rung, set } = build()
    set(NEVER)
    set(20)
    set(NEVER)
    expect(clock.pending).toBe(0)
    clock.advance(1_000)
    expect(rung).toEqual([])
  })

  it('may be set while it rings', () => {
    const clock = new ManualClock()
    const rung: number[] = []
    const alarm: Alarm = new Alarm(clock, () => {
      rung.push(clock.monotonic())
      if (rung.length < 3) alarm.set(clock.monotonic() + 10)
    })
    alarm.set(clock.monotonic())
    clock.advance(1_000)
    expect(rung.map(at => at - (rung[0] ?? 0))).toEqual([0, 10, 20])
  })

  it('tells how late it is by the wall clock', () => {
    const clock = new ManualClock()
    const late: number[] = []
    const alarm = new Alarm(clock, ms => late.push(ms))
    alarm.set(clock.monotonic() + 50)
    clock.advance(50)
    alarm.set(clock.monotonic() + 50)
    clock.jump(60_000)
    clock.advance(50)
    expect(late).toEqual([0, 60_000])
  })
})
