import { describe, expect, it } from 'vitest'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

describe('a large message to a large group', () => {
  it('all members receive a large message in order, and the hub serves other clients in between', {
    tags: 'slow',
  }, async () => {
    const { hub } = await openHub()
    const members = await Promise.all(Array.from({ length: 24 }, () => RawPubSubClient.connect(hub.url)))
    for (const member of members) await member.join('g')
    const other = await RawPubSubClient.connect(hub.url)
    const text = 'x'.repeat(1_000_000)
    const texts = [text, 'short', text, 'end']
    for (const data of texts) hub.sendToGroup('g', data, { dataType: 'text' })
    await other.settled()
    expect(members.filter(({ messages }) => messages.length > 0).length).toBeLessThan(12)
    for (const member of members) {
      const lengths = (await member.received(4)).map(({ data }) => String(data).length)
      expect(lengths).toEqual(texts.map(({ length }) => length))
    }
  })
})
