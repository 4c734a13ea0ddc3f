import { firstValueFrom } from 'rxjs'
import { describe, expect, it, vi } from 'vitest'
import { systemClock, text } from '../../../src/client/index.js'
import { layLink } from '../../support/link.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const { seen } = vi.hoisted(() => ({ seen: { attached: 0 } }))

vi.mock('../../../src/client/session/mqttjs-internals.js', async importOriginal => ({
  ...(await importOriginal<typeof import('../../../src/client/session/mqttjs-internals.js')>()),
  hasStreamBuilder: () => false,
  tapStream: () => {
    seen.attached++
  },
}))

describe('a connection over an mqtt.js with other internals', () => {
  it('reads, writes and watches use public events and continue after a reconnect', async () => {
    const { store } = await openStore({ clock: systemClock })
    const link = await layLink(store.url)
    const client = openClient(link.url)
    const key = client.key('a', text)
    const outcomes = record(key.value$)
    await outcomes.until(({ values }) => values.length === 1)
    expect(await firstValueFrom(key.set('one'))).toMatchObject({ applied: true })
    await outcomes.until(({ values }) => values.includes('one'))

    link.cut()
    await firstValueFrom(openClient(store.url).key('a', text).set('two'))
    link.restore()
    await outcomes.until(({ values }) => values.includes('two'))
    expect(outcomes.values).toEqual([undefined, 'one', 'two'])
    expect(await firstValueFrom(key.get())).toMatchObject({ value: 'two' })
    expect(seen.attached).toBe(0)
  })

  it('300 concurrent writes are all applied, as the limit of in-flight requests is unchanged', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const writes = Array.from({ length: 300 }, (_, i) => firstValueFrom(client.key(`k${i}`, text).set(`${i}`)))
    expect((await Promise.all(writes)).every(({ applied }) => applied)).toBe(true)
  })
})
