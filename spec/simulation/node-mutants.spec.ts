import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Step } from '../../src/client/watch/reconcile.js'
import type { WatchEvent, WatchState } from '../../src/client/watch/watch-state.js'
import type { Sabotage } from './connection.js'
import { nodeScheduleOf } from './node-schedule.js'
import { simulate } from './simulate.js'

const switchedOff = vi.hoisted(() => ({ doubt: false, newIdentifiers: false }))

vi.mock('../../src/client/watch/reconcile.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/watch/reconcile.js')>()
  const reconcile = (state: WatchState, event: WatchEvent): Step =>
    original.reconcile(state, switchedOff.doubt && event.type === 'notified' ? { ...event, certain: true } : event)
  return { ...original, reconcile }
})

vi.mock('../../src/client/session/subscription-ids.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/session/subscription-ids.js')>()
  class SubscriptionIds extends original.SubscriptionIds {
    override next(): number {
      return switchedOff.newIdentifiers ? 1 : super.next()
    }
  }
  return { ...original, SubscriptionIds }
})

const MOST_SCHEDULES = 6_000

/** How many schedules it takes until the oracle objects; `undefined` if it never does. */
function caughtAfter(sabotage?: Sabotage): number | undefined {
  for (let seed = 1; seed <= MOST_SCHEDULES; seed++)
    if (simulate(nodeScheduleOf(seed), sabotage).violations.length > 0) return seed
  return undefined
}

// Without a clean start alone the promises hold: what an old node still has is told apart by its identifier, or doubted.
describe('where clients move between nodes, the oracle objects', { timeout: 120_000 }, () => {
  afterEach(() => {
    switchedOff.doubt = false
    switchedOff.newIdentifiers = false
  })

  it('when a node answers before it has caught up', () => {
    expect(caughtAfter('wait until a node has caught up')).toBeDefined()
  })

  it('when a session of an earlier visit is taken up, and what was queued there is believed', () => {
    switchedOff.doubt = true
    expect(caughtAfter('clean start elsewhere')).toBeDefined()
  })

  it('when it is taken up, and every connection has the same identifier', () => {
    switchedOff.newIdentifiers = true
    expect(caughtAfter('clean start elsewhere')).toBeDefined()
  })
})
