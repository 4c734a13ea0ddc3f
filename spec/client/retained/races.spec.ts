import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { held, openTopics } from '../../support/retained-bench.js'

describe('races of a retained sync', () => {
  it('both: topic and key agree after a publish while a message of the sync is in flight', async () => {
    const { sync, client, publisher, publish, key, link } = await openTopics({ direction: 'both' })
    const { live, sync: one } = sync()
    await live()
    await publish('a', '1')
    await expect.poll(() => key('a')).toBe('1')
    link.stall('up')
    await client.key('of/a', text).set('key')
    await expect.poll(() => one.stats.published).toBe(1)
    await publish('a', 'topic')
    await expect.poll(() => key('a')).toBe('topic')
    link.resume()
    // The message in flight is the last one on the topic.
    await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('key')
    await expect.poll(() => key('a')).toBe('key')
  })

  it('both: topics and keys agree after many concurrent writes', { tags: 'slow' }, async () => {
    const { sync, client, publisher, publish, key } = await openTopics({ direction: 'both' })
    const { live, sync: one } = sync()
    await live()
    const names = Array.from({ length: 20 }, (_, at) => String(at))
    for (let round = 0; round < 10; round++)
      await Promise.all(
        names.flatMap(name => [
          publish(name, `topic ${round}`),
          lastValueFrom(client.key(`of/${name}`, text).set(`key ${round}`)),
        ]),
      )
    for (const name of names)
      await expect.poll(async () => (await key(name)) === (await held(publisher, `plant/${name}/temp`))).toBe(true)
    expect(one.stats.topics).toBe(names.length)
  })

  it.each(['to-keys', 'both'] as const)(
    '%s: a value that the broker lost before it was written is still transferred',
    { tags: 'slow' },
    async direction => {
      const { sync, publish, key, keysLink, topics, publisher } = await openTopics({ direction })
      const { live, status, errors } = sync()
      await live()
      await publish('a', '1')
      await expect.poll(() => key('a')).toBe('1')
      keysLink.cut()
      await publish('a', '2')
      await publish('b', '2')
      await errors.until(({ values }) => values.length > 0)
      await topics.restart({ keys: 'lost' })
      await status.until(
        ({ values }) =>
          values
            .slice(-2)
            .map(({ state }) => state)
            .join() === 'reconnecting,live',
      )
      const errorCount = errors.values.length
      await errors.until(({ values }) => values.length > errorCount)
      keysLink.restore()
      await expect.poll(() => key('b'), { timeout: 10_000 }).toBe('2')
      await expect.poll(() => key('a')).toBe('2')
      if (direction === 'both') await expect.poll(() => held(publisher, 'plant/a/temp')).toBe('2')
    },
  )

  it('to-keys: clearing a topic deletes its key, even if the topic was unknown', async () => {
    const { sync, client, publish, key } = await openTopics()
    await client.key('of/a', text).set('left over')
    const { live } = sync()
    await live()
    await publish('a', '')
    await expect.poll(() => key('a')).toBeUndefined()
  })

  it('to-topics: too many keys end the sync with overflow', async () => {
    const { sync, client } = await openTopics({ direction: 'to-topics', maxTopics: 2 })
    for (const name of ['a', 'b', 'c']) await client.key(`of/${name}`, text).set('1')
    const { status, errors } = sync()
    await status.until(({ completed }) => completed)
    expect(status.values.at(-1)).toMatchObject({ state: 'closed', cause: { code: 'overflow' } })
    expect(errors.values).toMatchObject([{ code: 'overflow' }])
  })
})
