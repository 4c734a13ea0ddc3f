import { connectAsync } from 'mqtt'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock, text } from '../../../src/client/index.js'
import { type RetainedOptions, retained } from '../../../src/client/retained/index.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { openRejectingLink } from './support/objecting-link.js'

const ROUNDS = 100
/** The duration in ms below which times are within the noise of the store and of a busy machine. */
const NOISE_MS = 50

/**
 * Opens a retained sync from keys to topics of Mosquitto, with a client that writes keys and waits for their topics.
 */
async function openBridge(lines: readonly string[], options: Partial<RetainedOptions>, isPoison?: RegExp) {
  const broker = await Mosquitto.launch({ lines })
  const { store } = await openStore({ clock: systemClock })
  const client = openClient(store.url)
  const link = isPoison && (await openRejectingLink(broker.port, ({ topic }) => isPoison.test(topic), undefined))
  const bridge = retained(client, link?.url ?? broker.url, {
    topic: 'plant/#',
    keys: '{#}',
    direction: 'to-topics',
    connection: { reconnect: { max: 50 } },
    ...options,
  })
  onTestFinished(async () => bridge.close())
  const status = record(bridge.status$)
  const errors = record(bridge.errors$)
  const valueByTopic = new Map<string, string>()
  const subscriber = await connectAsync(broker.url, { protocolVersion: 5, reconnectPeriod: 0 })
  onTestFinished(async () => subscriber.endAsync(true))
  const waiting = new Map<string, () => void>()
  subscriber.on('message', (topic, payload) => {
    valueByTopic.set(topic, String(payload))
    waiting.get(`${topic}=${payload}`)?.()
  })
  await subscriber.subscribeAsync('plant/#', { qos: 1 })
  await status.until(({ values }) => values.at(-1)?.state === 'live')
  const set = (key: string, value: string) => lastValueFrom(client.key(key, text).set(value))
  /** Writes a key and waits until its topic has the value. Returns the duration in ms. */
  const writeAndAwaitTopic = async (key: string, value: string): Promise<number> => {
    const began = performance.now()
    const arrived = new Promise<void>(resolve => waiting.set(`plant/${key}=${value}`, resolve))
    await set(key, value)
    await arrived
    return performance.now() - began
  }
  /** Returns the median of the durations of many writes in ms, which a stall of the machine does not change. */
  const median = async (name: string): Promise<number> => {
    const durations: number[] = []
    for (let i = 0; i < ROUNDS; i++) durations.push(await writeAndAwaitTopic('innocent', `${name} ${i}`))
    return durations.sort((a, b) => a - b)[ROUNDS / 2] ?? Number.NaN
  }
  return { status, errors, seen: valueByTopic, set, carry: writeAndAwaitTopic, median, link }
}

const deep = (levels: number): string => Array.from({ length: levels - 1 }, () => 'a').join('/')

describe('a key whose topic or value makes a broker close the connection', () => {
  it.each([
    ['too many levels', [], deep(211), 'v'],
    ['control characters', [], 'a\u0001b', 'v'],
    ['a wildcard', [], 'a/+/b', 'v'],
    ['a value larger than a packet', ['max_packet_size 2000'], 'big', 'x'.repeat(5_000)],
  ])('a key with %s is reported once, and all other keys are still published', async (_, lines, key, value) => {
    const { status, errors, set, median } = await openBridge(lines, {})
    const quiet = await median('quiet')
    await set(key, value)
    await errors.until(({ values }) => values.length > 0)
    expect(await median('beside')).toBeLessThan(Math.max(3 * quiet, NOISE_MS))
    expect(errors.values.map(({ code }) => code)).toEqual(['argument'])
    expect(status.values.at(-1)).toEqual({ state: 'live' })
    expect(status.values.some(({ state }) => state === 'reconnecting')).toBe(false)
  })

  it('a key that a broker rejects is found among a hundred and never published again', async () => {
    const {
      status,
      errors,
      set,
      carry: writeAndAwaitTopic,
      seen: valueByTopic,
    } = await openBridge([], { maxLevels: 300 })
    const writes = Array.from({ length: 100 }, (_, i) => writeAndAwaitTopic(`k${i}`, 'v'))
    await set(deep(211), 'v')
    await errors.until(({ values }) => values.length > 0)
    await Promise.all(writes)
    expect(valueByTopic.size).toBe(100)
    expect(errors.values).toMatchObject([{ code: 'connection-lost', reasonCode: 130 }])
    await status.until(({ values }) => values.at(-1)?.state === 'live')
    const connections = status.values.length
    await set(deep(211), 'another')
    await writeAndAwaitTopic('innocent', 'v')
    expect(status.values.length).toBe(connections)
    expect(errors.values).toHaveLength(1)
  })

  it('a key that a broker rejects without a reason code is found among a hundred keys', async () => {
    const {
      status,
      errors,
      set,
      carry: writeAndAwaitTopic,
      seen: valueByTopic,
      link,
    } = await openBridge([], {}, /poison/)
    const writes = Array.from({ length: 100 }, (_, i) => writeAndAwaitTopic(`k${i}`, 'v'))
    await set('poison', 'v')
    await errors.until(({ values }) => values.length > 0)
    await Promise.all(writes)
    expect(valueByTopic.size).toBe(100)
    expect(errors.values).toMatchObject([{ code: 'connection-lost', reasonCode: undefined }])
    await status.until(({ values }) => values.at(-1)?.state === 'live')
    const connections = link?.connections
    await writeAndAwaitTopic('innocent', 'v')
    expect(link?.connections).toBe(connections)
  })
})
