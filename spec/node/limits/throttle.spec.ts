import { describe, expect, it } from 'vitest'
import { LoginThrottle } from '../../../src/node/limits/throttle.js'
import { ManualClock } from '../../support/manual-clock.js'

function failing(times: number, address = '192.0.2.1') {
  const clock = new ManualClock()
  const throttle = new LoginThrottle(clock)
  for (let i = 0; i < times; i++) throttle.recordFailure(address)
  return { clock, throttle }
}

describe('LoginThrottle', () => {
  it.each([
    [0, 0],
    [4, 0],
    [5, 1_000],
    [6, 2_000],
    [9, 16_000],
    [11, 60_000],
    [1_000, 60_000],
  ])('delays only the address with %i failures, by %i ms', (times, pause) => {
    const { throttle } = failing(times)
    expect(throttle.pause('192.0.2.1')).toBe(pause)
    expect(throttle.pause('192.0.2.2')).toBe(0)
  })

  it('allows another attempt after the pause', () => {
    const { clock, throttle } = failing(5)
    clock.advance(999)
    expect(throttle.pause('192.0.2.1')).toBe(1)
    clock.advance(1)
    expect(throttle.pause('192.0.2.1')).toBe(0)
    throttle.recordFailure('192.0.2.1')
    expect(throttle.pause('192.0.2.1')).toBe(2_000)
  })

  it('ignores failures older than ten minutes', () => {
    const { clock, throttle } = failing(100)
    clock.advance(600_000)
    throttle.recordFailure('192.0.2.1')
    expect(throttle.pause('192.0.2.1')).toBe(0)
  })

  it('remembers a limited number of addresses, namely those that failed last', () => {
    const { throttle } = failing(5)
    for (let i = 0; i < 9_999; i++) throttle.recordFailure(`10.0.${i >> 8}.${i & 255}`)
    expect(throttle.pause('192.0.2.1')).toBe(1_000)
    throttle.recordFailure('10.1.0.0')
    expect(throttle.pause('192.0.2.1')).toBe(0)
  })

  it('treats an IPv6 network as one address', () => {
    const { throttle } = failing(5, '2001:db8:0:1::1')
    expect(throttle.pause('2001:db8:0:1:ffff:1:2:3')).toBe(1_000)
    expect(throttle.pause('2001:db8:0:2::1')).toBe(0)
  })

  it('delays a user name that has logged in from an address only after failures of that name', () => {
    const { throttle, clock } = failing(0)
    for (const name of ['panel', 'reader']) throttle.recordSuccess('192.0.2.1', name)
    for (let i = 0; i < 5; i++) throttle.recordFailure('192.0.2.1', 'guessed')
    const pauses = () => ['panel', 'reader', 'guessed', 'new'].map(name => throttle.pause('192.0.2.1', name))
    expect(pauses()).toEqual([0, 0, 1_000, 1_000])
    expect(throttle.pause('192.0.2.1')).toBe(1_000)
    for (let i = 0; i < 5; i++) throttle.recordFailure('192.0.2.1', 'panel')
    expect(pauses()).toEqual([1_000, 0, 32_000, 32_000])
    clock.advance(1_000)
    // A login does not clear failures, because otherwise an account holder could keep guessing.
    throttle.recordSuccess('192.0.2.1', 'panel')
    throttle.recordFailure('192.0.2.1', 'panel')
    expect(throttle.pause('192.0.2.1', 'panel')).toBe(2_000)
    expect(throttle.pause('192.0.2.2', 'panel')).toBe(0)
  })

  it('remembers a limited number of names, namely those that logged in last', () => {
    const { throttle } = failing(5)
    throttle.recordSuccess('192.0.2.1', 'panel')
    throttle.recordSuccess('192.0.2.1', 'reader')
    for (let i = 0; i < 9_998; i++) throttle.recordSuccess('192.0.2.1', `${i}`)
    expect(throttle.pause('192.0.2.1', 'panel')).toBe(0)
    throttle.recordSuccess('192.0.2.1', 'panel')
    throttle.recordSuccess('192.0.2.1', 'another')
    expect(throttle.pause('192.0.2.1', 'panel')).toBe(0)
    expect(throttle.pause('192.0.2.1', 'reader')).toBe(1_000)
  })
})
