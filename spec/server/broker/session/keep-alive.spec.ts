import { describe, expect, it } from 'vitest'
import { Timeouts } from '../../../../src/core/util/timeouts.js'
import { KeepAlive } from '../../../../src/server/broker/session/keep-alive.js'
import { ManualClock } from '../../../support/manual-clock.js'

const setUp = () => {
  const clock = new ManualClock()
  const timeouts = new Timeouts<() => void>(clock, task => task())
  const silences: number[] = []
  const begun = clock.monotonic()
  const keepAlive = new KeepAlive({ clock, timeouts }, 10_000, () => silences.push(clock.monotonic() - begun))
  return { clock, keepAlive, silences }
}

describe('KeepAlive', () => {
  it('a client that does not authenticate in time is timed out despite other packets', () => {
    const { clock, keepAlive, silences } = setUp()
    clock.advance(9_999)
    keepAlive.recordActivity()
    expect(silences).toEqual([])
    clock.advance(1)
    expect(silences).toEqual([10_000])
  })

  it('the keep-alive times out if nothing arrives within the agreed time', () => {
    const { clock, keepAlive, silences } = setUp()
    keepAlive.start(3_000)
    clock.advance(2_000)
    keepAlive.recordActivity()
    clock.advance(2_999)
    expect(silences).toEqual([])
    clock.advance(1)
    expect(silences).toEqual([5_000])
  })

  it('the keep-alive times out repeatedly until it is stopped', () => {
    const { clock, keepAlive, silences } = setUp()
    keepAlive.start(3_000)
    clock.advance(9_000)
    expect(silences).toEqual([3_000, 6_000, 9_000])
    keepAlive.stop()
    clock.advance(60_000)
    expect(silences).toHaveLength(3)
    expect(clock.pending).toBe(0)
  })

  it('the keep-alive never times out without a limit', () => {
    const { clock, keepAlive, silences } = setUp()
    keepAlive.start(0)
    clock.advance(1e9)
    expect(silences).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('the keep-alive sets no timer when activity is recorded', () => {
    const { clock, keepAlive } = setUp()
    keepAlive.start(3_000)
    const before = clock.scheduled
    for (let i = 0; i < 1_000; i++) keepAlive.recordActivity()
    expect(clock.scheduled).toBe(before)
  })
})
