import { describe, expect, it } from 'vitest'
import { ExpiryTimer } from '../../../src/server/service/expiry-timer.js'
import { ManualClock } from '../../support/manual-clock.js'

/** Opens a timer for a key that expires after 100 ms, in a log that rejects each attempt with `problem`. */
function openTimer(problem: 'full' | 'broken' | undefined) {
  const clock = new ManualClock()
  const start = clock.now()
  const attempts: number[] = []
  const timer = new ExpiryTimer({
    clock,
    nextDeadline: () => start + 100,
    expire: () => {
      attempts.push(clock.now() - start)
      timer.update(problem)
    },
  })
  return { clock, timer, attempts }
}

describe('The expiry timer while the log rejects entries', () => {
  it('while the log rejects entries, it tries at the deadline, then once a second', () => {
    const { clock, timer, attempts } = openTimer('full')
    timer.resume()
    clock.advance(2_500)
    expect(attempts).toEqual([100, 1_100, 2_100])
  })

  it('rejected writes do not postpone its attempts', () => {
    const { clock, timer, attempts } = openTimer('full')
    timer.resume()
    for (let elapsedMs = 0; elapsedMs < 2_500; elapsedMs += 50) {
      clock.advance(50)
      timer.update('full')
    }
    expect(attempts).toEqual([100, 1_100, 2_100])
  })

  it('once the log accepts entries, it tries at the deadline again', () => {
    const { clock, timer, attempts } = openTimer('full')
    timer.resume()
    clock.advance(200)
    timer.update(undefined)
    clock.advance(0)
    expect(attempts).toEqual([100, 200])
  })

  it('it stops for a broken log, and while it is paused', () => {
    const { clock, timer, attempts } = openTimer('broken')
    timer.resume()
    clock.advance(5_000)
    expect(attempts).toEqual([100])
    timer.pause()
    timer.update(undefined)
    clock.advance(5_000)
    expect(attempts).toEqual([100])
  })
})
