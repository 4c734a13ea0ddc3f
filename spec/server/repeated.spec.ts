import { describe, expect, it } from 'vitest'
import { openStore } from '../support/open-store.js'
import { responseTopicOf } from '../support/raw-client.js'
import { requestPacket, WireClient } from '../support/wire-client.js'
import { command, textOf } from '../support/words.js'

const NOW = '1696374425000:0:CLIENT'

interface Subject {
  readonly client: WireClient
  readonly clientId: string
}

async function connect(url: string, clientId = 'alice'): Promise<Subject> {
  const client = await WireClient.connect(url, clientId)
  await client.subscribe(responseTopicOf(clientId))
  return { client, clientId }
}

async function answerOf(
  { client, clientId }: Subject,
  words: string,
  id: number,
  { dup = false }: { readonly dup?: boolean } = {},
) {
  const before = client.publishes.length
  const packet = requestPacket(clientId, command(words), id, { userProperties: { __ts: NOW } })
  client.send({ ...packet, dup, properties: { ...packet.properties, messageExpiryInterval: 10 } })
  const answer = (await client.came('publish', before + 1)).at(-1) ?? expect.fail('no answer')
  client.acknowledge(answer)
  return { text: textOf(Buffer.from(answer.payload)), version: Object(answer.properties?.userProperties)['__ts'] }
}

describe('A request that comes again, as its client did not hear (DUP)', () => {
  it('is answered as before and not done again: SET NX does not refuse itself', async () => {
    const { store } = await openStore()
    const before = await connect(store.url)
    const first = await answerOf(before, 'SET k v NX', 1)
    expect(first.text).toBe('+OK\r\n')
    await before.client.cut()
    const after = await connect(store.url)
    expect(await answerOf(after, 'SET k v NX', 1, { dup: true })).toEqual(first)
    expect(store.peek('k')?.version).toBe(first.version)
  })

  it.each([
    ['DEL k', ':1\r\n'],
    ['VDEL k v', ':1\r\n'],
  ])('%s says again what it did', async (words, expected) => {
    const { store } = await openStore()
    const client = await connect(store.url)
    await answerOf(client, 'SET k v', 1)
    expect((await answerOf(client, words, 2)).text).toBe(expected)
    expect((await answerOf(client, words, 2, { dup: true })).text).toBe(expected)
    expect((await answerOf(client, words, 3, { dup: true })).text).toBe(':0\r\n')
  })

  it('is another one without the mark, from another client, with other correlation data, or when its time is over', async () => {
    const { store, clock } = await openStore()
    const [alice, bob] = [await connect(store.url), await connect(store.url, 'bob')]
    await answerOf(alice, 'SET k v NX', 1)
    expect((await answerOf(alice, 'SET k v NX', 1)).text).toBe(':-1\r\n')
    await answerOf(alice, 'DEL k', 9)
    expect((await answerOf(bob, 'SET k v NX', 1, { dup: true })).text).toBe('+OK\r\n')
    expect((await answerOf(alice, 'SET k v NX', 2, { dup: true })).text).toBe(':-1\r\n')
    await answerOf(alice, 'DEL k', 10)
    expect((await answerOf(alice, 'SET k w NX', 20)).text).toBe('+OK\r\n')
    clock.advance(9_999)
    expect((await answerOf(alice, 'SET k w NX', 20, { dup: true })).text).toBe('+OK\r\n')
    clock.advance(1)
    expect((await answerOf(alice, 'SET k w NX', 20, { dup: true })).text).toBe(':-1\r\n')
  })

  it('reads what is there now when it reads', async () => {
    const { store } = await openStore()
    const client = await connect(store.url)
    expect((await answerOf(client, 'GET k', 1)).text).toBe('$-1\r\n')
    await answerOf(client, 'SET k v', 2)
    expect((await answerOf(client, 'GET k', 1, { dup: true })).text).toBe('$1\r\nv\r\n')
  })
})
