import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstValueFrom, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { set, systemClock, text } from '../../../src/client/index.js'
import { fenced, withLock } from '../../../src/client/lease/index.js'
import { lease } from '../../../src/client/lease/lease.js'
import { healthOf } from '../../../src/server/metrics/health.js'
import { HOLDOVER_MS } from '../../../src/server/service/store-clock.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record, words } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { isNewer } from '../../support/version.js'

const DAY = 86_400_000

/** Opens a store with an adjustable clock that starts at the current time, and a client with the real clock. */
async function open() {
  const clock = new ManualClock(Date.now())
  const { store } = await openStore({ clock })
  const client = openClient(store.url, { clock: systemClock })
  return { store, clock, client, drifts: record(store.drift$) }
}

describe.each([
  ['two minutes', 120_000],
  ['a day', DAY],
])('a store whose clock ran ahead by %s and was corrected', (_, far) => {
  it('a store whose clock was set back still serves writes, watches, and locks with their tokens', async () => {
    const { store, clock, client } = await open()
    const key = client.key('k', text)
    const seen = record(key.entries$)
    await seen.until(({ values }) => values.length === 1)
    clock.jump(far)
    const first = await firstValueFrom(key.set('1'))
    clock.jump(-far)
    const second = await firstValueFrom(key.set('2'))
    expect(isNewer(String(second.version), String(first.version))).toBe(true)
    await seen.until(({ values }) => values.length === 3)
    expect(words(seen)).toEqual(['absent (snapshot)', 'set 1 (notification)', 'set 2 (notification)'])
    const lock = lease(client, 'lock', { duration: 5_000 })
    const guarded = withLock(lock, token => of('3').pipe(set(fenced(client, token).key('guarded', text))))
    expect((await firstValueFrom(guarded)).applied).toBe(true)
    expect(store.stats.errors).toBe(0)
  })

  it('a store whose clock was set back reports the drift once, and again when the drift ends', async () => {
    const { store, clock, client, drifts } = await open()
    const write = () => firstValueFrom(client.key('k', text).set('v'))
    clock.jump(far)
    await write()
    clock.jump(-far)
    await write()
    await write()
    expect([drifts.values, store.drift]).toEqual([[far], far])
    clock.advance(HOLDOVER_MS + 8 * far)
    await write()
    expect([drifts.values, store.drift]).toEqual([[far, 0], 0])
  })
})

describe('a store whose clock was set back by an hour', () => {
  const HOUR = 3_600_000

  it('serves clients with right clocks for an hour, and is not ready while it rejects them', async () => {
    const { store, clock } = await open()
    const rightClock = new ManualClock(clock.now())
    const client = openClient(store.url, { clock: rightClock, timeout: 5_000 })
    const advance = (ms: number): void => {
      clock.advance(ms)
      rightClock.jump(ms)
    }
    const write = () => firstValueFrom(client.key('k', text).set('v', { expiresIn: 60_000 }))
    await write()
    clock.jump(-HOUR)
    expect((await write()).applied).toBe(true)
    expect([store.drift, store.isRejectingClocks, healthOf(store, '1').checks.clock.status]).toEqual([
      HOUR,
      false,
      'warn',
    ])
    advance(HOUR - 1_000)
    expect((await write()).applied).toBe(true)
    // The time is a minute behind after eight minutes.
    advance(9 * 60_000)
    await expect(write()).rejects.toMatchObject({ code: 'clock-skew' })
    expect([store.isRejectingClocks, healthOf(store, '1')]).toMatchObject([
      true,
      { status: 'fail', checks: { clock: { status: 'fail', output: expect.stringContaining('was set back') } } },
    ])
    clock.jump(HOUR)
    expect((await write()).applied).toBe(true)
    expect([store.drift, store.isRejectingClocks, healthOf(store, '1').status]).toEqual([0, false, 'pass'])
  })

  it('continues from the time of its log if the clock was set back while it was stopped', async () => {
    const data = await mkdtemp(join(tmpdir(), 'drift-'))
    const clock = new ManualClock(Date.now())
    const first = (await openStore({ clock, data })).store
    await firstValueFrom(openClient(first.url, { clock: systemClock }).key('k', text).set('v'))
    await first.close()
    clock.jump(-HOUR)
    const { store } = await openStore({ clock, data })
    const client = openClient(store.url, { clock: systemClock })
    expect((await firstValueFrom(client.key('k', text).set('w'))).applied).toBe(true)
    expect(Math.abs(store.drift - HOUR)).toBeLessThan(60_000)
    expect(store.isRejectingClocks).toBe(false)
  })
})

describe('the drift of a store', () => {
  it('is zero after a write by a client whose clock is almost a minute ahead', async () => {
    const { store, drifts } = await open()
    const early = openClient(store.url, { clock: new ManualClock(Date.now() + 55_000) })
    await firstValueFrom(early.key('k', text).set('v'))
    expect([store.drift, drifts.values]).toEqual([0, []])
  })

  it('survives a restart that keeps the keys, and ends when a restart loses them', async () => {
    const { store, clock, client, drifts } = await open()
    const write = () => firstValueFrom(client.key('k', text).set('v'))
    clock.jump(DAY)
    const { version } = await write()
    clock.jump(-DAY)
    await store.restart({ keys: 'kept' })
    // Unlike a write, a read is retried on the new connection.
    await firstValueFrom(client.key('k', text).get())
    const next = await write()
    expect(isNewer(String(next.version), String(version))).toBe(true)
    expect(drifts.values).toEqual([DAY])
    await store.restart({ keys: 'lost' })
    expect([drifts.values, store.drift]).toEqual([[DAY, 0], 0])
  })

  it('ends if its dump is loaded into an empty store, whose versions begin at the current time', async () => {
    const { store, clock, client } = await open()
    clock.jump(DAY)
    await firstValueFrom(client.key('k', text).set('v'))
    clock.jump(-DAY)
    const lines = [...store.dump()]
    await store.restart({ keys: 'lost' })
    expect(await store.load(lines)).toMatchObject({ loaded: 1, versionsKept: 0 })
    expect(store.drift).toBe(0)
  })

  it('does not prevent the store from loading its own dump, including tokens', async () => {
    const { store, clock, client } = await open()
    clock.jump(DAY)
    const token = String((await firstValueFrom(client.key('lock', text).set('me'))).version)
    await firstValueFrom(client.key('k', text).set('v', { fencingToken: token }))
    clock.jump(-DAY)
    expect(await store.load([...store.dump()], { replace: true })).toMatchObject({ loaded: 2 })
    expect(store.peek('k')?.fencingToken).toBe(token)
  })
})

describe('expiry when the clock of the store jumps', () => {
  const left = async (jump: number) => {
    const { store, clock } = await open()
    // The client's clock also jumps, because otherwise it would be ahead of the store's clock.
    const client = openClient(store.url, { clock })
    await firstValueFrom(client.key('k', text).set('v', { expiresIn: 10_000 }))
    clock.jump(jump)
    await firstValueFrom(client.key('other', text).get())
    return { store, clock }
  }

  it('an expiring key is removed by the next request after the clock jumped past the expiry', async () => {
    expect((await left(DAY)).store.stats.keys).toBe(0)
  })

  it('an expiring key lives as long as before if the clock jumped back', async () => {
    const { store, clock } = await left(-DAY)
    clock.advance(9_999)
    expect(store.stats.keys).toBe(1)
    clock.advance(1)
    expect(store.stats.keys).toBe(0)
  })
})
