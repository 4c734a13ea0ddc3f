import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { layLink } from '../../support/link.js'
import { buildMochi, Mochi } from '../../support/mochi.js'
import { openAttached, untilState } from '../../support/open-attached.js'
import { openClient, record, words } from '../../support/open-client.js'

const BUILD_TIME = 300_000

// The broker never reports that a message has no receiver, so the store detects this only by waiting.
describe('a store attached to mochi', () => {
  let broker: Mochi
  beforeAll(async () => {
    await buildMochi()
    broker = await Mochi.start()
  }, BUILD_TIME)
  afterAll(async () => broker.stop())

  it('notifies a watching client of every step of a key', async () => {
    await openAttached(broker.url)
    const seen = record(openClient(broker.url).key('a', text).entries$)
    await seen.until(({ values }) => values.length > 0)
    const writer = openClient(broker.url).key('a', text)
    for (let i = 0; i < 50; i++) await writer.set(`v${i}`)
    await seen.until(({ values }) => values.length === 51)
    expect(words(seen).slice(1)).toEqual(Array.from({ length: 50 }, (_, i) => `set v${i} (notification)`))
  })

  it('reconnects after a lost connection', async () => {
    const link = await layLink(broker.url)
    const store = await openAttached(link.url)
    const client = openClient(broker.url)
    const seen = record(client.key('a', text).entries$)
    await client.key('a', text).set('before')
    link.cut()
    await untilState(store, 'reconnecting')
    const meanwhile = client.key('a', text).set('meanwhile')
    link.restore()
    expect(await meanwhile).toMatchObject({ applied: true })
    await seen.until(({ values }) => values.at(-1)?.value === 'meanwhile')
  })
})
