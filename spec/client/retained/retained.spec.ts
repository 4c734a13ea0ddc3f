import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { systemClock, text } from '../../../src/client/index.js'
import { retained } from '../../../src/client/retained/index.js'
import { record } from '../../support/open-client.js'
import { held, openTopics, TERMS } from '../../support/retained-bench.js'

describe('a retained sync to keys', () => {
  it('retained and live messages are written to keys', async () => {
    const { sync, publish, key } = await openTopics()
    await publish('a', '20')
    const { live } = sync()
    await live()
    await publish('b', '21')
    await publish('a', '22')
    await expect.poll(() => key('a')).toBe('22')
    await expect.poll(() => key('b')).toBe('21')
  })

  it('clearing a topic deletes its key', async () => {
    const { sync, publish, key } = await openTopics()
    await publish('a', '20')
    sync()
    await expect.poll(() => key('a')).toBe('20')
    await publish('a', '')
    await expect.poll(() => key('a')).toBeUndefined()
  })

  it('messages without the retain flag are ignored', async () => {
    const { sync, publish, key } = await openTopics()
    const { live } = sync()
    await live()
    await publish('a', 'gone', false)
    await publish('b', 'kept')
    await expect.poll(() => key('b')).toBe('kept')
    expect(await key('a')).toBeUndefined()
  })

  it('after a disconnect only changed values are written', async () => {
    const { sync, publish, key, link, client } = await openTopics()
    await publish('a', '1')
    await publish('b', '1')
    const { live, status } = sync()
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

  it('the latest value is written after the store was unavailable', async () => {
    const { sync, publish, key, keys } = await openTopics()
    const { live, sync: one } = sync()
    await live()
    const restarted = keys.restart({ keys: 'kept' })
    for (let i = 0; i <= 5; i++) await publish('a', String(i))
    await restarted
    await expect.poll(() => key('a')).toBe('5')
    expect(one.stats.topics).toBe(1)
  })

  it('the latest value is written after the clock of the sync was ahead', async () => {
    let aheadMs = 0
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
    const { sync, publish, key } = await openTopics({}, clock)
    const { live, errors } = sync()
    await live()
    await publish('a', '1')
    await expect.poll(() => key('a')).toBe('1')
    aheadMs = 600_000
    await publish('a', '2')
    await errors.until(({ values }) => values.some(({ code }) => code === 'clock-skew'))
    aheadMs = 0
    await expect.poll(() => key('a')).toBe('2')
  })

  it('a message that the broker lost does not delete its key', async () => {
    const { sync, publish, key, topics } = await openTopics()
    await publish('a', '1')
    const { live, status } = sync()
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

  it('a message that is published again renews the expiry of its key', async () => {
    const { sync, publish, key, client } = await openTopics({ expiresIn: 300 })
    const { live } = sync()
    await live()
    const seen = record(client.key('of/a', text).entries$)
    await publish('a', '1')
    await seen.until(({ values }) => values.at(-1)?.op === 'set')
    const first = seen.values.length
    await publish('a', '1')
    await seen.until(({ values }) => values.length > first)
    await expect.poll(() => key('a')).toBeUndefined()
  })

  it('a value over the limit is reported, and other values are still synced', async () => {
    const { sync, publish, key } = await openTopics({ maxTopics: 2 })
    const { live, errors } = sync()
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

  it('close ends the sync and does not close the store', async () => {
    const { sync, publish, key } = await openTopics()
    const { sync: one, live, status } = sync()
    await live()
    await one.close()
    await one.close()
    expect(status.completed).toBe(true)
    expect(status.values.at(-1)).toEqual({ state: 'closed', cause: undefined })
    await publish('a', '1')
    expect(await key('a')).toBeUndefined()
  })
})

describe('a retained sync to topics', () => {
  it('values are published as retained messages, and deletions clear topics', async () => {
    const { sync, client, publisher } = await openTopics({ direction: 'to-topics' })
    await client.key('of/a', text).set('1')
    const { live } = sync()
    await live()
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('1')
    await client.key('of/a', text).set('2')
    await client.key('of/b', text).set('1')
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('2')
    await expect.poll(() => held(publisher, 'plant/b/temp')).toBe('1')
    await client.key('of/a', text).delete()
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('')
  })

  it('foreign values on a topic are overwritten, and lost values are published again', async () => {
    const { sync, client, publisher, publish, topics } = await openTopics({ direction: 'to-topics' })
    await client.key('of/a', text).set('1')
    sync()
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('1')
    await publish('a', 'other')
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('1')
    await topics.restart({ keys: 'lost' })
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('1')
  })
})

describe('a retained sync in both directions', () => {
  it('each change is transferred to the other side once', async () => {
    const { sync, client, publisher, publish, key } = await openTopics({ direction: 'both' })
    const { live, sync: one } = sync()
    await live()
    await publish('a', '1')
    await expect.poll(() => key('a')).toBe('1')
    await client.key('of/a', text).set('2')
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('2')
    await client.key('of/a', text).delete()
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('')
    expect(one.stats).toMatchObject({ written: 1, published: 2 })
  })

  it('concurrent writes to both sides converge', async () => {
    const { sync, client, publisher, publish, key } = await openTopics({ direction: 'both' })
    const { live, sync: one } = sync()
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
    // Each change is transferred at most once in each direction.
    expect(before).toBeLessThanOrEqual(20 * 6)
  })

  it('the sync writes values again that the store lost', async () => {
    const { sync, publish, key, keys } = await openTopics({ direction: 'both' })
    sync()
    await publish('a', '1')
    await expect.poll(() => key('a')).toBe('1')
    await keys.restart({ keys: 'lost' })
    await expect.poll(() => key('a')).toBe('1')
  })

  it('after a disconnect each change is transferred, and the topic wins conflicts', async () => {
    const { sync, client, publisher, publish, key, link } = await openTopics({ direction: 'both' })
    const { live, status } = sync()
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

describe('invalid options', () => {
  it('`retained` throws synchronously for invalid options', async () => {
    const { client } = await openTopics()
    const wrong = (options: object) => () => retained(client, 'mqtt://localhost', { ...TERMS, ...options })
    expect(() => retained(client, 'nonsense', TERMS)).toThrow('broker URL')
    expect(wrong({ direction: 'up' })).toThrow('`direction`')
    expect(wrong({ expiresIn: 0 })).toThrow('`expiresIn`')
    expect(wrong({ expiresIn: 1, direction: 'to-topics' })).toThrow('`expiresIn`')
    expect(wrong({ maxTopics: -1 })).toThrow('`maxTopics`')
    expect(wrong({ maxLevels: 0 })).toThrow('`maxLevels`')
    expect(wrong({ key: 'a' })).toThrow('`key`')
    expect(() => retained(JSON.parse('{}'), 'mqtt://localhost', TERMS)).toThrow('Expected a store')
  })
})
