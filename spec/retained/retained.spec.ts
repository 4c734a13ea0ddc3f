import { connectAsync, type MqttClient } from 'mqtt'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type StateStore, systemClock, text } from '../../src/index.js'
import { type RetainedOptions, retained } from '../../src/retained/index.js'
import { layLink } from '../support/link.js'
import { openClient, record } from '../support/open-client.js'
import { openStore } from '../support/open-store.js'

const TERMS: RetainedOptions = { topic: 'plant/+/temp', keys: 'of/{1}', connection: { reconnect: { maximum: 20 } } }

/** A broker with topics and a store, a bridge between them over a cable, and somebody at each of the two. */
async function open(options: Partial<RetainedOptions> = {}) {
  const { store: topics } = await openStore({ clock: systemClock })
  const { store: keys } = await openStore({ clock: systemClock })
  const link = await layLink(topics.url)
  const client = openClient(keys.url, { timeout: 1_000 })
  const bridge = () => openBridge(client, link.url, options)
  const publisher = await connectAsync(topics.url, { protocolVersion: 5 })
  onTestFinished(async () => publisher.endAsync())
  const publish = (name: string, value: string, retain = true) =>
    publisher.publishAsync(`plant/${name}/temp`, value, { qos: 1, retain })
  const key = async (name: string) => (await lastValueFrom(client.key(`of/${name}`, text).get())).value
  return { topics, keys, link, client, bridge, publisher, publish, key }
}

function openBridge(client: StateStore, url: string, options: Partial<RetainedOptions>) {
  const bridge = retained(client, url, { ...TERMS, ...options })
  onTestFinished(async () => bridge.close())
  const status = record(bridge.status$)
  const errors = record(bridge.errors$)
  const live = () => status.until(({ values }) => values.at(-1)?.state === 'live')
  return { bridge, status, errors, live }
}

/** What a topic has now; empty for nothing. */
async function held(publisher: MqttClient, topic: string): Promise<string> {
  const marker = `marker/${Math.random()}`
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

describe('A bridge of retained topics, to keys', () => {
  it('carries what is retained, and what comes', async () => {
    const { bridge, publish, key } = await open()
    await publish('a', '20')
    const { live } = bridge()
    await live()
    await publish('b', '21')
    await publish('a', '22')
    await expect.poll(() => key('a')).toBe('22')
    await expect.poll(() => key('b')).toBe('21')
  })

  it('deletes the key of a topic that is cleared', async () => {
    const { bridge, publish, key } = await open()
    await publish('a', '20')
    bridge()
    await expect.poll(() => key('a')).toBe('20')
    await publish('a', '')
    await expect.poll(() => key('a')).toBeUndefined()
  })

  it('leaves alone what is not retained', async () => {
    const { bridge, publish, key } = await open()
    const { live } = bridge()
    await live()
    await publish('a', 'gone', false)
    await publish('b', 'kept')
    await expect.poll(() => key('b')).toBe('kept')
    expect(await key('a')).toBeUndefined()
  })

  it('carries after a cut what has changed meanwhile, and nothing else', async () => {
    const { bridge, publish, key, link, client } = await open()
    await publish('a', '1')
    await publish('b', '1')
    const { live, status } = bridge()
    await live()
    await expect.poll(() => key('b')).toBe('1')
    const seen = record(client.key('of/a', text).entries$)
    await seen.until(({ values }) => values.length === 1)
    link.cut()
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    await publish('b', '2')
    link.restore()
    await expect.poll(() => key('b')).toBe('2')
    expect(seen.values).toHaveLength(1)
  })

  it('carries what came while the store was away', async () => {
    const { bridge, publish, key, keys } = await open()
    const { live, bridge: one } = bridge()
    await live()
    const restarted = keys.restart({ keys: 'kept' })
    for (let i = 0; i <= 5; i++) await publish('a', String(i))
    await restarted
    await expect.poll(() => key('a')).toBe('5')
    expect(one.stats.topics).toBe(1)
  })

  it('takes nothing for deleted that a broker has lost', async () => {
    const { bridge, publish, key, topics } = await open()
    await publish('a', '1')
    const { live, status } = bridge()
    await live()
    await expect.poll(() => key('a')).toBe('1')
    await topics.restart({ keys: 'lost' })
    await status.until(
      ({ values }) =>
        values
          .slice(-2)
          .map(({ state }) => state)
          .join() === 'reconnecting,live',
    )
    expect(await key('a')).toBe('1')
  })

  it('lets keys live as long as their topics are published', async () => {
    const { bridge, publish, key, client } = await open({ expiresIn: 300 })
    const { live } = bridge()
    await live()
    const seen = record(client.key('of/a', text).entries$)
    await publish('a', '1')
    await seen.until(({ values }) => values.at(-1)?.op === 'set')
    const first = seen.values.length
    await publish('a', '1')
    await seen.until(({ values }) => values.length > first)
    await expect.poll(() => key('a')).toBeUndefined()
  })

  it('tells of what has no room, and carries all else', async () => {
    const { bridge, publish, key } = await open({ maxTopics: 2 })
    const { live, errors } = bridge()
    await live()
    for (const name of ['a', 'b', 'c']) await publish(name, '1')
    await errors.until(({ values }) => values.length === 1)
    expect(errors.values[0]).toMatchObject({ code: 'overflow', message: expect.stringContaining('plant/c/temp') })
    await publish('a', '2')
    await expect.poll(() => key('a')).toBe('2')
    await publish('b', '')
    await expect.poll(() => key('b')).toBeUndefined()
    await publish('c', '2')
    await expect.poll(() => key('c')).toBe('2')
  })

  it('ends when it is closed, and leaves the store open', async () => {
    const { bridge, publish, key } = await open()
    const { bridge: one, live, status } = bridge()
    await live()
    await one.close()
    await one.close()
    expect(status.completed).toBe(true)
    expect(status.values.at(-1)).toEqual({ state: 'closed', cause: undefined })
    await publish('a', '1')
    expect(await key('a')).toBeUndefined()
  })
})

describe('A bridge of retained topics, to topics', () => {
  it('publishes what keys have, retained, and clears what is deleted', async () => {
    const { bridge, client, publisher } = await open({ direction: 'to-topics' })
    await client.key('of/a', text).set('1')
    const { live } = bridge()
    await live()
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('1')
    await client.key('of/a', text).set('2')
    await client.key('of/b', text).set('1')
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('2')
    await expect.poll(() => held(publisher, 'plant/b/temp')).toBe('1')
    await client.key('of/a', text).delete()
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('')
  })

  it('gives a topic back what its key has, and the broker what it has lost', async () => {
    const { bridge, client, publisher, publish, topics } = await open({ direction: 'to-topics' })
    await client.key('of/a', text).set('1')
    bridge()
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('1')
    await publish('a', 'other')
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('1')
    await topics.restart({ keys: 'lost' })
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('1')
  })
})

describe('A bridge of retained topics, both ways', () => {
  it('carries each change to the other side, once', async () => {
    const { bridge, client, publisher, publish, key } = await open({ direction: 'both' })
    const { live, bridge: one } = bridge()
    await live()
    await publish('a', '1')
    await expect.poll(() => key('a')).toBe('1')
    await client.key('of/a', text).set('2')
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('2')
    await client.key('of/a', text).delete()
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('')
    expect(one.stats).toMatchObject({ written: 1, published: 2 })
  })

  it('comes to rest on one value when both are written at the same time', async () => {
    const { bridge, client, publisher, publish, key } = await open({ direction: 'both' })
    const { live, bridge: one } = bridge()
    await live()
    for (let round = 0; round < 20; round++) {
      await Promise.all([
        publish('a', `topic ${round}`),
        lastValueFrom(client.key('of/a', text).set(`key ${round}`)),
        publish('a', `topic ${round} again`),
      ])
    }
    let before = -1
    await expect
      .poll(async () => {
        const { written, published } = one.stats
        const isQuiet = written + published === before
        before = written + published
        return isQuiet && (await key('a')) === (await held(publisher, 'plant/a/temp'))
      })
      .toBe(true)
    // Each change is carried once at most, and back once at most.
    expect(before).toBeLessThanOrEqual(20 * 6)
  })

  it('gives the store back what it has lost', async () => {
    const { bridge, publish, key, keys } = await open({ direction: 'both' })
    bridge()
    await publish('a', '1')
    await expect.poll(() => key('a')).toBe('1')
    await keys.restart({ keys: 'lost' })
    await expect.poll(() => key('a')).toBe('1')
  })

  it('after a cut carries what was written to one side, and the topic where it was both', async () => {
    const { bridge, client, publisher, publish, key, link } = await open({ direction: 'both' })
    const { live, status } = bridge()
    await live()
    for (const name of ['a', 'b', 'c']) await publish(name, '1')
    for (const name of ['a', 'b', 'c']) await expect.poll(() => key(name)).toBe('1')
    link.cut()
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    await publish('a', 'topic')
    await client.key('of/b', text).set('key')
    await publish('c', 'topic')
    await client.key('of/c', text).set('key')
    link.restore()
    await expect.poll(() => key('a')).toBe('topic')
    await expect.poll(() => held(publisher, 'plant/b/temp')).toBe('key')
    await expect.poll(() => key('c')).toBe('topic')
    expect(await held(publisher, 'plant/c/temp')).toBe('topic')
    expect(await key('b')).toBe('key')
  })
})

describe('What a bridge is told wrong', () => {
  it('is refused at once', async () => {
    const { client } = await open()
    const wrong = (options: object) => () => retained(client, 'mqtt://localhost', { ...TERMS, ...options })
    expect(() => retained(client, 'nonsense', TERMS)).toThrow('broker URL')
    expect(wrong({ direction: 'up' })).toThrow('`direction`')
    expect(wrong({ expiresIn: 0 })).toThrow('`expiresIn`')
    expect(wrong({ expiresIn: 1, direction: 'to-topics' })).toThrow('`expiresIn`')
    expect(wrong({ maxTopics: -1 })).toThrow('`maxTopics`')
    expect(wrong({ key: 'a' })).toThrow('`key`')
    expect(() => retained(JSON.parse('{}'), 'mqtt://localhost', TERMS)).toThrow('Expected a store')
  })
})
