import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { number, systemClock } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

describe('a client whose clock is two minutes ahead', () => {
  it('reads, watches and lists keys, because only writes have a timestamp', async () => {
    const { store } = await openStore({ clock: systemClock })
    await openClient(store.url).key('a', number).set(1)
    const client = openClient(store.url, { clock: { ...systemClock, now: () => systemClock.now() + 120_000 } })
    const key = client.key('a', number)
    expect(await key.get()).toMatchObject({ value: 1 })
    expect(await firstValueFrom(key.value$)).toBe(1)
    expect(await firstValueFrom(client.scan('*'))).toMatchObject({ name: 'a' })
    await expect(key.set(2)).rejects.toMatchObject({ code: 'clock-skew' })
    await expect(key.delete()).rejects.toMatchObject({ code: 'clock-skew' })
  })
})
