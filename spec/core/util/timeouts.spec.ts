import { describe, expect, it } from 'vitest'
import { DeadlineTimer, Timeouts } from '../../../src/core/util/timeouts.js'
import { ManualClock } from '../../support/manual-clock.js'

const NEVER = Number.POSITIVE_INFINITY

function build() {
  const clock = new ManualClock()
  const start = clock.monotonic()
  const rung: number[] = []
  const alarm = new DeadlineTimer(clock, () => rung.push(clock.monotonic() - start))
  return { clock, rung, alarm, set: (at: number) => alarm.set(start + at) }
}

describe('DeadlineTimer', () => {
  it('fires once, at the time that was set', () => {
    const { clock, rung, set } = build()
    set(50)
    clock.advance(49)
    expect(rung).toEqual([])
    clock.advance(1_000)
    expect(rung).toEqual([50])
  })

  it('fires at the earliest of several times, with a single timer', () => {
    const { clock, rung, set } = build()
    for (const at of [50, 80, 20, 30]) set(at)
    expect(clock.pending).toBe(1)
    clock.advance(1_000)
    expect(rung).toEqual([20])
  })

  it('fires at the earlier time if a later time is also set, without another timer', () => {
    const { clock, rung, set } = build()
    set(20)
    for (let at = 21; at < 1_000; at++) set(at)
    expect(clock.scheduled).toBe(1)
    clock.advance(1_000)
    expect(rung).toEqual([20])
  })

  it('fires for an elapsed deadline as soon as possible, but not synchronously', () => {
    const { clock, rung, set } = build()
    set(-10)
    expect(rung).toEqual([])
    clock.advance(0)
    expect(rung).toEqual([0])
  })

  it('does not fire for NEVER, and leaves no timer behind', () => {
    const { clock, rung, set } = build()
    set(NEVER)
    set(20)
    set(NEVER)
    expect(clock.pending).toBe(0)
    clock.advance(1_000)
    expect(rung).toEqual([])
  })

  it('can be set while it fires', () => {
    const clock = new ManualClock()
    const rung: number[] = []
    const alarm: DeadlineTimer = new DeadlineTimer(clock, () => {
      rung.push(clock.monotonic())
      if (rung.length < 3) alarm.set(clock.monotonic() + 10)
    })
    alarm.set(clock.monotonic())
    clock.advance(1_000)
    expect(rung.map(at => at - (rung[0] ?? 0))).toEqual([0, 10, 20])
  })

  it('passes the delay by the wall clock to its callback', () => {
    const clock = new ManualClock()
    const late: number[] = []
    const alarm = new DeadlineTimer(clock, ms => late.push(ms))
    alarm.set(clock.monotonic() + 50)
    clock.advance(50)
    alarm.set(clock.monotonic() + 50)
    clock.jump(60_000)
    clock.advance(50)
    expect(late).toEqual([0, 60_000])
  })
})

function setupTimeouts() {
  const clock = new ManualClock()
  const start = clock.monotonic()
  const fired: string[] = []
  const timeouts = new Timeouts<string>(clock, item => fired.push(`${item} at ${clock.monotonic() - start}`))
  return { clock, fired, timeouts, add: (at: number, item: string) => timeouts.add(start + at, item) }
}

describe('Timeouts', () => {
  it('reports every item at its time, the earliest first, with a single timer', () => {
    const { clock, fired, add } = setupTimeouts()
    add(30, 'c')
    add(10, 'a')
    add(20, 'b')
    expect(clock.pending).toBe(1)
    clock.advance(100)
    expect(fired).toEqual(['a at 10', 'b at 20', 'c at 30'])
  })

  it('does not report a removed item', () => {
    const { clock, fired, timeouts, add } = setupTimeouts()
    timeouts.remove(add(10, 'a'))
    add(20, 'b')
    clock.advance(100)
    expect(fired).toEqual(['b at 20'])
  })

  it('leaves no timer behind when all items are removed, and then accepts new ones', () => {
    const { clock, fired, timeouts, add } = setupTimeouts()
    timeouts.remove(add(10, 'a'))
    expect(clock.pending).toBe(0)
    add(20, 'b')
    clock.advance(20)
    expect([fired, clock.pending]).toEqual([['b at 20'], 0])
  })

  it('accepts new items during its callback', () => {
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
