import { connectAsync, type MqttClient } from 'mqtt'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openStore } from '../../cli/test-io.js'
import { Mosquitto } from '../../support/mosquitto.js'

/** A peak that only the allocator of Mosquitto can know. */
const MISSING = ['$SYS/broker/heap/maximum']
/** Topics whose values depend only on what the clients do, and not on what the broker sends to them. */
const COMPARED = [
  'clients/active',
  'clients/connected',
  'clients/disconnected',
  'clients/inactive',
  'clients/maximum',
  'clients/total',
  'messages/received',
  'publish/bytes/received',
  'publish/messages/received',
  'shared_subscriptions/count',
  'subscriptions/count',
].map(name => `$SYS/broker/${name}`)

const WAIT = { timeout: 30_000, interval: 50 }

async function connectedAt(url: string, clientId: string): Promise<MqttClient> {
  const client = await connectAsync(url, { protocolVersion: 5, clientId, reconnectPeriod: 0 })
  onTestFinished(async () => client.endAsync(true))
  return client
}

/** Lets clients do the same at a broker. Returns the last values of its topics, which change with time. */
async function observe(url: string): Promise<Map<string, string>> {
  const values = new Map<string, string>()
  const observer = await connectedAt(url, 'observer')
  observer.on('message', (topic, payload) => values.set(topic, String(payload)))
  await observer.subscribeAsync('$SYS/#')
  const [a, b] = [await connectedAt(url, 'a'), await connectedAt(url, 'b')]
  await a.subscribeAsync(['x/+', 'y/#', '$share/g/z'])
  for (const topic of ['x/1', 'y/2/3', 'other']) await b.publishAsync(topic, 'payload', { qos: 1 })
  // Mosquitto 2.0 does not count a PUBLISH with the retain flag, contrary to its manual.
  await b.publishAsync('y', 'payload', { qos: 0 })
  const offline = await connectAsync(url, {
    protocolVersion: 5,
    clientId: 'offline',
    properties: { sessionExpiryInterval: 60 },
  })
  await offline.endAsync()
  return values
}

describe('The $SYS topics beside those of Mosquitto', { timeout: 60_000 }, () => {
  it("$SYS topics have Mosquitto's names, formats and values for the same clients", async () => {
    const mosquitto = await Mosquitto.start({ lines: ['sys_interval 1'] })
    onTestFinished(async () => mosquitto.stop())
    const { url } = await openStore({ sysInterval: 200 })
    const [theirs, ours] = await Promise.all([observe(mosquitto.url), observe(url)])
    const compared = (values: ReadonlyMap<string, string>) => COMPARED.map(topic => [topic, values.get(topic)])
    await vi.waitFor(() => {
      expect(compared(theirs)).toContainEqual(['$SYS/broker/clients/disconnected', '1'])
      expect(compared(ours)).toEqual(compared(theirs))
      expect(Array.from(theirs.keys()).filter(topic => !ours.has(topic))).toEqual(MISSING)
      expect(Array.from(ours.keys()).filter(topic => !theirs.has(topic))).toEqual([])
    }, WAIT)
    const format = (value: string | undefined) => value?.replace(/\d+/g, '0').replace(/^.* version .*/, 'version')
    for (const [topic, value] of ours) expect([topic, format(value)]).toEqual([topic, format(theirs.get(topic))])
  })
})
