import { describe, expect, it } from 'vitest'
import { openStore } from '../support/open-store.js'
import { WireClient } from '../support/wire-client.js'

describe('PUBREL', () => {
  it('that comes twice at once is answered twice, and harms nobody', async () => {
    const { store } = await openStore()
    const client = await WireClient.connect(store.url, 'alice')
    for (const messageId of [9, 10, 11]) {
      client.send({ cmd: 'publish', topic: 'news', payload: 'x', qos: 2, messageId, dup: false, retain: false })
    }
    await client.came('pubrec', 3)
    for (const messageId of [9, 10, 11]) client.send({ cmd: 'pubrel', messageId }, { cmd: 'pubrel', messageId })
    const answers = await client.came('pubcomp', 6)
    expect(answers.map(({ messageId }) => messageId).sort()).toEqual([10, 10, 11, 11, 9, 9])
  })
})
