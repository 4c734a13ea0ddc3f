import { randomUUID } from 'node:crypto'
import { connectAsync, type MqttClient } from 'mqtt'
import { lastValueFrom } from 'rxjs'
import { onTestFinished } from 'vitest'
import { type StateStore, systemClock, text } from '../../src/client/index.js'
import { type RetainedOptions, retained } from '../../src/client/retained/index.js'
import { layLink } from './link.js'
import { openClient, record } from './open-client.js'
import { openStore } from './open-store.js'

export const TERMS: RetainedOptions = {
  topic: 'plant/+/temp',
  keys: 'of/{1}',
  connection: { reconnect: { max: 20 } },
}

/** Opens a broker with topics, a store, a sync between the two over two links, and a client of each. */
export async function openTopics(options: Partial<RetainedOptions> = {}, clock = systemClock) {
  const { store: topics } = await openStore({ clock: systemClock })
  const { store: keys } = await openStore({ clock: systemClock })
  const link = await layLink(topics.url)
  const keysLink = await layLink(keys.url)
  const client = openClient(keysLink.url, { timeout: 1_000, clock })
  const other = openClient(keys.url)
  const sync = () => openBridge(client, link.url, options)
  const publisher = await connectAsync(topics.url, { protocolVersion: 5, reconnectPeriod: 20 })
  onTestFinished(async () => publisher.endAsync())
  const publish = (name: string, value: string, retain = true) =>
    publisher.publishAsync(`plant/${name}/temp`, value, { qos: 1, retain })
  const key = async (name: string) => (await lastValueFrom(other.key(`of/${name}`, text).get())).value
  return { topics, keys, link, keysLink, client, sync, publisher, publish, key }
}

function openBridge(client: StateStore, url: string, options: Partial<RetainedOptions>) {
  const sync = retained(client, url, { ...TERMS, ...options })
  onTestFinished(async () => sync.close())
  const status = record(sync.status$)
  const errors = record(sync.errors$)
  const live = () => status.until(({ values }) => values.at(-1)?.state === 'live')
  return { sync, status, errors, live }
}

/** Returns the retained message of a topic, or an empty string if there is none. */
export async function held(publisher: MqttClient, topic: string): Promise<string> {
  const marker = `marker/${randomUUID()}`
  let found = ''
  const heard = new Promise<void>(resolve => {
    publisher.on('message', (name, payload) => {
      if (name === topic) found = String(payload)
      if (name === marker) resolve()
    })
  })
  await publisher.subscribeAsync([topic, marker], { qos: 1 })
  await publisher.publishAsync(marker, '', { qos: 1 })
  await heard
  await publisher.unsubscribeAsync([topic, marker])
  publisher.removeAllListeners('message')
  return found
}
