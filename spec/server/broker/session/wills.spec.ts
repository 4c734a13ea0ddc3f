import { beforeEach, describe, expect, it } from 'vitest'
import type { Will } from '../../../../src/core/mqtt5/packets.js'
import { Timeouts } from '../../../../src/core/util/timeouts.js'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { Session } from '../../../../src/server/broker/session/session.js'
import { Wills } from '../../../../src/server/broker/session/wills.js'
import { ManualClock } from '../../../support/manual-clock.js'

const MEMORY = 1024 * 1024
const CLIENT = { clientId: 'c', open: false, subscribes: () => false, deliver: () => undefined }
const WILL: Will = {
  topic: 'gone',
  payload: new Uint8Array(1024),
  carried: new Uint8Array(0),
  qos: 0,
  retain: false,
  userProperties: {},
  delay: 60,
}

describe('Wills', () => {
  let clock: ManualClock
  let budget: MemoryBudget
  let published: string[]
  let wills: Wills
  let session: Session

  beforeEach(() => {
    clock = new ManualClock()
    budget = new MemoryBudget(MEMORY)
    published = []
    wills = new Wills(
      {
        handler: { topic: 'invoke', checkPublish: () => undefined, handlePublish: () => true },
        clock,
        budget,
        timeouts: new Timeouts<() => void>(clock, task => task()),
        publish: ({ topic }) => void published.push(topic),
        defer: task => task(),
      },
      MEMORY,
    )
    session = new Session('c', {
      budget,
      now: () => clock.monotonic(),
      lastRetainedSequence: 0,
      evictSession: () => undefined,
      reassign: () => undefined,
    })
    session.expirySeconds = 3_600
  })

  const leave = (): void => wills.publishOrDelay(CLIENT, session, WILL)

  it('publishes a will after its delay', () => {
    leave()
    clock.advance(59_999)
    expect(published).toEqual([])
    clock.advance(1)
    expect(published).toEqual(['gone'])
    expect(wills.delayedCount).toBe(0)
  })

  it('a client that returns cancels its will', () => {
    leave()
    wills.cancelDelayed(session)
    clock.advance(60_000)
    expect(published).toEqual([])
  })

  it('the will of a session that has ended is published at once', () => {
    session.end()
    leave()
    expect(published).toEqual(['gone'])
  })

  it('no will is published after the broker has closed', () => {
    leave()
    wills.close()
    clock.advance(60_000)
    expect(published).toEqual([])
  })
})
