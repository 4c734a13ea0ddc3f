import { expect, it } from 'vitest'
import { after } from '../../../src/client/requests/after.js'
import { ManualClock } from '../../support/manual-clock.js'

it('after() emits once and completes, and a cancelled one leaves no timer', () => {
  const clock = new ManualClock()
  const events: string[] = []
  const observer = { next: () => events.push('next'), complete: () => events.push('complete') }
  after(10, clock).subscribe(observer).unsubscribe()
  after(20, clock).subscribe(observer)
  clock.advance(19)
  expect(events).toEqual([])
  clock.advance(1)
  expect(events).toEqual(['next', 'complete'])
})
