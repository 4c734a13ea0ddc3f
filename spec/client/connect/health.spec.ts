import { filter, firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { eventually } from '../../support/eventually.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

/** A client of a store whose clock is ahead of the client's by `ms`. */
async function open(ms: number) {
  const { store } = await openStore({ clock: { ...systemClock, now: () => systemClock.now() + ms } })
  const client = openClient(store.url, { clientId: 'alice' })
  const errors = record(client.errors$)
  await eventually(() => store.clientIds.includes('alice'))
  await firstValueFrom(client.key('a', text).get())
  return { store, client, errors, stats: () => firstValueFrom(client.stats$) }
}

describe('the health of a client', () => {
  it('shows the time from the last request of this connection to its response', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    expect((await firstValueFrom(client.stats$)).roundTrip).toBeUndefined()
    await client.key('a', text).get()
    expect((await firstValueFrom(client.stats$)).roundTrip).toBeGreaterThan(0)
    await store.close()
    await firstValueFrom(client.status$.pipe(filter(({ state }) => state === 'reconnecting')))
    expect((await firstValueFrom(client.stats$)).roundTrip).toBeUndefined()
  })

  it.each([5_000, -5_000])(
    'shows the offset of the clock of a store that is %d ms ahead, without a warning',
    async ms => {
      const { stats, errors } = await open(ms)
      const { clockOffset = Number.NaN } = await stats()
      expect(Math.abs(clockOffset - ms)).toBeLessThan(3_000)
      expect(errors.values).toEqual([])
    },
  )

  it.each([
    [40_000, /(39|40) s behind the clock of the store/],
    [-40_000, /4\d s ahead of the clock of the store/],
  ])('warns on errors$ of a store whose clock is %d ms ahead, before requests are rejected', async (ms, message) => {
    const { client, stats, errors } = await open(ms)
    await client.key('a', text).set('1')
    expect(errors.values).toMatchObject([{ code: 'clock-skew', message: expect.stringMatching(message) }])
    expect((await stats()).lastError).toBe(errors.values[0])
  })

  it('shows the last error, and emits it without a change of keys', async () => {
    const { store, client } = await open(0)
    const stats = record(client.stats$)
    store.cut('alice')
    await stats.until(({ values }) => values.at(-1)?.lastError?.code === 'connection-lost')
  })
})
