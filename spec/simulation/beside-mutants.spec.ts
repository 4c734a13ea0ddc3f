import { afterEach, describe, expect, it, vi } from 'vitest'
import type { InboundMessage } from '../../src/client/session/session.js'
import { besideScheduleOf } from './beside-schedule.js'
import { simulate } from './simulate.js'

const switchedOff = vi.hoisted(() => ({ life: false, isBack: false }))

vi.mock('../../src/client/connect/life.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/connect/life.js')>()
  class Life extends original.Life {
    override answered(message: InboundMessage): void {
      if (!switchedOff.life) super.answered(message)
    }
  }
  return { ...original, Life }
})

vi.mock('../../src/client/connect/subscribing.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/client/connect/subscribing.js')>()
  class Subscribing extends original.Subscribing {
    override renew(): void {
      if (!switchedOff.isBack) super.renew()
    }
  }
  return { ...original, Subscribing }
})

const MOST_SCHEDULES = 6_000

/** How many schedules it takes until the oracle objects; `undefined` if it never does. */
function caughtAfter(): number | undefined {
  for (let seed = 1; seed <= MOST_SCHEDULES; seed++)
    if (simulate(besideScheduleOf(seed)).violations.length > 0) return seed
  return undefined
}

describe('where the store is beside its broker, the oracle objects', { timeout: 120_000 }, () => {
  afterEach(() => {
    switchedOff.life = false
    switchedOff.isBack = false
  })

  it('when lives are not looked at', () => {
    switchedOff.life = true
    expect(caughtAfter()).toBeDefined()
  })

  it('when nobody registers again with another life', () => {
    switchedOff.isBack = true
    expect(caughtAfter()).toBeDefined()
  })
})
