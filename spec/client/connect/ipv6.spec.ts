import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { systemClock, text } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

describe('a store at an IPv6 address', () => {
  it.each(['url', 'wsUrl'] as const)('a client connects to the URL that the store reports: %s', async kind => {
    const { store } = await openStore({ host: '::1', clock: systemClock })
    expect(store[kind]).toMatch(/^(mqtt|ws):\/\/\[::1\]:\d+$/)
    const client = openClient(store[kind])
    await firstValueFrom(client.key('a', text).set('1'))
    expect((await firstValueFrom(client.key('a', text).get())).value).toBe('1')
  })
})
