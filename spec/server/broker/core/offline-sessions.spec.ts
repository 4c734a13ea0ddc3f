import { beforeEach, describe, expect, it } from 'vitest'
import type { Will } from '../../../../src/core/mqtt5/packets.js'
import { Timeouts } from '../../../../src/core/util/timeouts.js'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { OfflineSessions } from '../../../../src/server/broker/core/offline-sessions.js'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import { NO_QUOTAS, QuotaAccounts } from '../../../../src/server/broker/limits/quota-accounts.js'
import { Traffic } from '../../../../src/server/broker/limits/traffic.js'
import type { SessionOwner } from '../../../../src/server/broker/session/handler.js'
import { Session } from '../../../../src/server/broker/session/session.js'
import { Wills } from '../../../../src/server/broker/session/wills.js'
import { ManualClock } from '../../../support/manual-clock.js'

const KIB = 1024
const MEMORY = 8 * 1024 * KIB
const WILL: Will = {
  topic: 'gone',
  payload: new Uint8Array(60 * KIB),
  carried: new Uint8Array(0),
  qos: 0,
  retain: false,
  userProperties: {},
  delay: 3_600,
}
const CLIENT = { clientId: 'c', open: false, subscribes: () => false, deliver: () => undefined }

describe('OfflineSessions', () => {
  let offlineSessions: OfflineSessions
  let wills: Wills
  let ended: string[]
  let sessions: Map<string, Session>
  let leave: (owner: string, id: string, will?: Will) => void

  beforeEach(() => {
    const clock = new ManualClock()
    const budget = new MemoryBudget(MEMORY)
    const timeouts = new Timeouts<() => void>(clock, task => task())
    const accounts = new QuotaAccounts(NO_QUOTAS, () => clock.monotonic())
    ended = []
    sessions = new Map()
    const end = (session: Session): void => {
      ended.push(session.clientId)
      wills.publishDelayed(session)
      offlineSessions.remove(session)
    }
    const traffic = new Traffic()
    const handler = { topic: 'invoke', checkPublish: () => undefined, handlePublish: () => true }
    const willsHost = { handler, clock, timeouts, budget, publish: () => undefined, defer: () => undefined }
    wills = new Wills(willsHost, MEMORY)
    offlineSessions = new OfflineSessions({ clock, timeouts, wills, traffic, end })
    const host = {
      budget,
      now: () => clock.monotonic(),
      lastRetainedSequence: 0,
      evictSession: () => undefined,
      reassign: () => undefined,
    }
    leave = (owner, id, will) => {
      const session = new Session(id, host)
      session.expirySeconds = 3_600
      const sessionOwner: SessionOwner = {
        id: owner,
        canConnect: true,
        maySubscribe: () => true,
        canReceive: () => true,
      }
      session.setAccount(accounts.of(owner === '' ? undefined : sessionOwner, undefined))
      sessions.set(id, session)
      if (will) wills.publishOrDelay(CLIENT, session, will)
      offlineSessions.add(session)
    }
  })

  it('when the limit is exceeded, the session that has been offline the longest ends', () => {
    for (let n = 0; n < LIMIT.offlineSessions + 2; n++) leave('', `c-${n}`)
    expect(ended).toEqual(['c-0', 'c-1'])
  })

  it('an owner with many offline sessions does not displace other owners', () => {
    leave('is innocent', 'innocent')
    leave('', 'nobody')
    for (let n = 0; n < LIMIT.offlineSessions; n++) leave('is mallory', `m-${n}`)
    expect(ended).toEqual(['m-0', 'm-1'])
  })

  it('an owner with many wills does not displace the wills of other owners', () => {
    leave('is innocent', 'innocent', WILL)
    for (let n = 0; n < 20; n++) leave('is mallory', `m-${n}`, WILL)
    expect(ended[0]).toBe('m-0')
    expect(ended).not.toContain('innocent')
  })

  it('a resumed session no longer counts as offline', () => {
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 10; n++) leave('is mallory', `m-${n}`, WILL)
      for (const session of sessions.values()) {
        offlineSessions.remove(session)
        wills.cancelDelayed(session)
      }
    }
    expect(ended).toEqual([])
  })
})
