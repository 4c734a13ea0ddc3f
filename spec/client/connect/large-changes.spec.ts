import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { bytes, systemClock } from '../../../src/client/index.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

describe.each(['url', 'wsUrl'] as const)('a watch over %s', address => {
  it('a watch emits every change once and in order, even small values after large ones', async () => {
    const { store } = await openStore({ clock: systemClock })
    const [watcher, writer] = [openClient(store[address]), openClient(store.url)]
    const seen = record(watcher.key('k', bytes).value$)
    await seen.until(({ values }) => values.length === 1)
    const sizes = [1_200_000, 10, 1_100_000, 11, 70_000, 12, 1_300_000, 13]
    await Promise.all(sizes.map(size => firstValueFrom(writer.key('k', bytes).set(new Uint8Array(size).fill(7)))))
    await seen.until(({ values }) => values.length > sizes.length)
    expect(seen.values.slice(1).map(value => value?.length)).toEqual(sizes)
  })
})
