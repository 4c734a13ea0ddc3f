import { from, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../console/src/api/api.js'
import type { FeedEvent } from '../../../../console/src/api/feed.js'
import {
  type ConnectionHealth,
  type Health,
  healthOf,
  watchHealth,
} from '../../../../console/src/state/store-health.js'
import { ClosedError, ConnectionLostError, ConnectionRefusedError } from '../../../../src/core/util/errors.js'
import type { StatsSample } from '../../../../src/server/console/contract.js'

const LIVE: Health = { state: 'live' }
const CONNECTING: Health = { state: 'connecting' }
const lineEvent: FeedEvent = { type: 'line', line: { type: 'clients', clients: [] } }
const lost: FeedEvent = { type: 'lost', cause: new TypeError('network') }
const well: ConnectionHealth = {
  feed: lineEvent,
  status: { state: 'connected' },
  frozenUntil: undefined,
}
const reconnecting: ConnectionHealth = {
  ...well,
  status: { state: 'reconnecting', cause: new ConnectionLostError(), attempt: 1, retryAt: 0 },
}

/** Returns the health after successive states, which are one second apart and start at 1,000. */
const healthAfter = (...states: readonly ConnectionHealth[]): Health =>
  states.reduce<Health>((before, state, i) => healthOf(state, before, 1_000 * (i + 1)), CONNECTING)

describe('Health', () => {
  it('is connecting at first, and live when both connections are established', () => {
    expect(healthAfter({ ...well, feed: undefined })).toEqual(CONNECTING)
    expect(healthAfter({ ...well, status: { state: 'connecting' } })).toEqual(CONNECTING)
    expect(healthAfter(well)).toEqual(LIVE)
  })

  it('is stale from the first loss, and later failures do not change that time', () => {
    const stale = { state: 'stale', since: 2_000 }
    expect(healthAfter(well, reconnecting)).toEqual({ ...stale, why: 'No response from the store' })
    expect(healthAfter(well, { ...well, feed: lost })).toEqual({ ...stale, why: 'Store unreachable' })
    expect(healthAfter(well, reconnecting, { ...reconnecting, feed: lost })).toEqual({
      ...stale,
      why: 'Store unreachable',
    })
    expect(healthAfter(well, reconnecting, { ...well, status: { state: 'connecting' } })).toMatchObject(stale)
    expect(healthAfter(well, reconnecting, well)).toEqual(LIVE)
  })

  it('is stale with a reason when the connection was closed', () => {
    const cause = new ClosedError('taken over')
    expect(healthAfter(well, { ...well, status: { state: 'closed', cause } })).toMatchObject({ why: 'taken over' })
    expect(healthAfter(well, { ...well, status: { state: 'closed', cause: undefined } })).toMatchObject({
      state: 'stale',
    })
  })

  it('is never stale before it was live', () => {
    expect(healthAfter({ ...well, feed: lost })).toEqual({ state: 'connecting', why: 'Store unreachable' })
  })

  it('is frozen during a freeze, even if connections are lost', () => {
    const frozen = { state: 'frozen', since: 2_000, until: 9_000 }
    expect(healthAfter(well, { ...well, frozenUntil: 9_000 })).toEqual(frozen)
    expect(healthAfter(well, { ...well, frozenUntil: 9_000 }, { ...reconnecting, frozenUntil: 9_000 })).toEqual(frozen)
    expect(healthAfter(well, { ...well, frozenUntil: 2_000 })).toEqual(LIVE)
  })

  it('is stale when the server is lost during a freeze', () => {
    expect(healthAfter(well, { ...well, frozenUntil: 9_000 }, { ...well, feed: lost, frozenUntil: 9_000 })).toEqual({
      state: 'stale',
      since: 2_000,
      why: 'Store unreachable',
    })
  })

  it('is stale with the store’s reason while an attached store is not active', () => {
    const why = 'Cannot reach the broker: connect ECONNREFUSED'
    expect(healthAfter(well, { ...reconnecting, why })).toEqual({ state: 'stale', since: 2_000, why })
    expect(healthAfter({ ...well, why })).toEqual({ state: 'connecting', why })
    expect(healthAfter(well, { ...well, why }, well)).toEqual(LIVE)
  })

  it('is stale while the node that serves the page cannot reach its log', () => {
    const sample = { type: 'pulse', at: 2_000, keys: 0, watches: 0, connections: 1, keyspace: 0 } as const
    const pulse: StatsSample = { ...sample, requests: 0, errors: 0, notifications: 0 }
    const pulses$ = from([pulse, { ...pulse, isWaitingForLog: true } as const, pulse])
    const healths: Health[] = []
    watchHealth(of(lineEvent), of({ state: 'connected' }), pulses$, () => 2_000).subscribe(each => healths.push(each))
    expect(healths).toEqual([LIVE, { state: 'stale', since: 2_000, why: 'The node cannot reach its log' }, LIVE])
  })

  it('is stale since the last sample, although the machine of the page slept before it noticed', () => {
    const slept = { ...well, sampledAt: 1_000 }
    expect(healthOf({ ...slept, feed: lost }, LIVE, 3_600_000)).toMatchObject({ state: 'stale', since: 1_000 })
    expect(healthOf({ ...slept, status: reconnecting.status }, LIVE, 3_600_000)).toMatchObject({ since: 1_000 })
  })

  it('stays refused after a rejected token', () => {
    const cause = new ApiError(401, { code: 'token', message: 'wrong' })
    expect(healthAfter(well, { ...well, feed: { type: 'refused', cause } })).toEqual({
      state: 'refused',
      by: 'console',
      why: 'wrong',
    })
  })

  it('is refused from the first refusal by the broker until a connection succeeds', () => {
    const cause = new ConnectionRefusedError('Not authorized', 135)
    const refused: Health = { state: 'refused', by: 'broker', why: 'Not authorized' }
    const closed: ConnectionHealth = { ...well, status: { state: 'closed', cause } }
    const retrying: ConnectionHealth = { ...well, status: { state: 'connecting' } }
    expect(healthAfter(closed)).toEqual(refused)
    expect(healthAfter(closed, retrying)).toEqual(refused)
    expect(healthAfter(closed, retrying, well)).toEqual(LIVE)
    expect(healthAfter(closed, { ...closed, feed: lost })).toEqual({ state: 'connecting', why: 'Store unreachable' })
  })
})
