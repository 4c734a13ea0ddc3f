import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { onWake } from '../../../src/client/session/wake.js'
import { ManualClock } from '../../support/manual-clock.js'

function watched() {
  const clock = new ManualClock()
  let times = 0
  let visits = 0
  const stop = onWake(
    clock,
    () => times++,
    () => visits++,
  )
  return { clock, woken: () => times, visits: () => visits, stop }
}

describe('system sleep', () => {
  it('a wall clock that jumps ahead is reported once', () => {
    const { clock, woken } = watched()
    clock.advance(60_000)
    expect(woken()).toBe(0)
    clock.jump(600_000)
    clock.advance(5_000)
    expect(woken()).toBe(1)
    clock.advance(60_000)
    expect(woken()).toBe(1)
  })

  it('small and backward clock adjustments are ignored', () => {
    const { clock, woken } = watched()
    clock.jump(9_000)
    clock.advance(5_000)
    clock.jump(-3_600_000)
    clock.advance(60_000)
    expect(woken()).toBe(0)
  })

  it('nothing is reported after the checks are stopped', () => {
    const { clock, woken, stop } = watched()
    stop()
    clock.jump(600_000)
    clock.advance(60_000)
    expect({ woken: woken(), timers: clock.pending }).toEqual({ woken: 0, timers: 0 })
  })
})

describe('a page', () => {
  it.each(['online', 'pageshow', 'focus', 'visibilitychange'])(
    'the event %s is a visit, until the checks stop',
    type => {
      const page = new EventTarget()
      vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
      vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
      onTestFinished(() => void vi.unstubAllGlobals())
      const { visits, stop } = watched()
      page.dispatchEvent(new Event(type))
      vi.stubGlobal('document', { visibilityState: 'hidden' })
      page.dispatchEvent(new Event(type))
      vi.stubGlobal('document', { visibilityState: 'visible' })
      page.dispatchEvent(new Event(type))
      stop()
      page.dispatchEvent(new Event(type))
      expect(visits()).toBe(2)
    },
  )
})
