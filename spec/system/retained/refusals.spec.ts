import { connectAsync } from 'mqtt'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bytes, systemClock } from '../../../src/client/index.js'
import { retained } from '../../../src/client/retained/index.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { SERVICES } from '../../support/services.js'

const TERMS = { topic: 'plant/#', keys: '{#}' }

describe('values that a retained sync cannot transfer', () => {
  it('missing names and oversized keys and values are reported, and others are synced', async () => {
    const { store: topics } = await openStore({ clock: systemClock })
    const { store: keys } = await openStore({ clock: systemClock, maxPacketSize: 4_096 })
    const publisher = await connectAsync(topics.url, { protocolVersion: 5 })
    onTestFinished(async () => publisher.endAsync())
    const client = openClient(keys.url)
    const sync = retained(client, topics.url, TERMS)
    onTestFinished(async () => sync.close())
    const errors = record(sync.errors$)
    const status = record(sync.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'live')
    const publish = (topic: string, value: string) => publisher.publishAsync(topic, value, { qos: 1, retain: true })
    await publish('plant/', 'nameless')
    await publish(`plant/${'x'.repeat(5_000)}`, 'long')
    await publish('plant/large', 'x'.repeat(5_000))
    await publish('plant/grüße ⚙ *?[]', 'odd')
    await expect.poll(async () => (await lastValueFrom(client.key('grüße ⚙ *?[]', bytes).get())).value?.length).toBe(3)
    await errors.until(({ values }) => values.length === 3)
    expect(errors.values.map(({ code }) => code)).toEqual(['argument', 'argument', 'argument'])
    expect(status.values.at(-1)).toEqual({ state: 'live' })
    await publish('plant/large', 'small')
    await expect.poll(async () => (await lastValueFrom(client.key('large', bytes).get())).value?.length).toBe(5)
  })

  it.runIf(SERVICES.mosquitto.present)('a broker without retained messages ends the sync', async () => {
    const broker = await Mosquitto.launch({ lines: ['retain_available false'] })
    const { store } = await openStore({ clock: systemClock })
    const sync = retained(openClient(store.url), broker.url, TERMS)
    const end = await lastValueFrom(sync.status$)
    expect(end).toMatchObject({ state: 'closed', cause: { code: 'connection-refused' } })
    await sync.close()
  })

  it.runIf(SERVICES.mosquitto.present)('publishes that the broker rejects are reported', async () => {
    const acl = ['topic read plant/#', 'topic readwrite rx-statestore/v1/retained/+']
    const broker = await Mosquitto.launch({ acl })
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const sync = retained(client, broker.url, { ...TERMS, keys: 'of/{#}', direction: 'to-topics' })
    onTestFinished(async () => sync.close())
    const errors = record(sync.errors$)
    await lastValueFrom(client.key('of/a', bytes).set(new Uint8Array([1])))
    await errors.until(({ values }) => values.length === 1)
    expect(errors.values[0]).toMatchObject({ code: 'request-rejected' })
  })
})
