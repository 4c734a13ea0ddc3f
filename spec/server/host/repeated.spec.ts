import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { openStore } from '../../support/open-store.js'
import { requestPacket } from '../../support/packets.js'
import { TestClient } from '../../support/test-client.js'
import { responseTopicOf } from '../../support/topics.js'
import { command, textOf } from '../../support/words.js'

const NOW = '1696374425000:0:CLIENT'

interface Subject {
  readonly client: TestClient
  readonly clientId: string
}

async function connect(url: string, clientId = 'alice'): Promise<Subject> {
  const client = await TestClient.connect(url, clientId)
  await client.subscribe(responseTopicOf(clientId))
  return { client, clientId }
}

async function sendRequest(
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

describe('a request repeated with DUP', () => {
  it('gets the same response without being executed again, so SET NX does not fail', async () => {
    const { store } = await openStore()
    const before = await connect(store.url)
    const first = await sendRequest(before, 'SET k v NX', 1)
    expect(first.text).toBe('+OK\r\n')
    await before.client.cut()
    const after = await connect(store.url)
    expect(await sendRequest(after, 'SET k v NX', 1, { dup: true })).toEqual(first)
    expect(store.peek('k')?.version).toBe(first.version)
  })

  it.each([
    ['DEL k', ':1\r\n'],
    ['VDEL k v', ':1\r\n'],
  ])('the repeated request %s gets the same result', async (words, expected) => {
    const { store } = await openStore()
    const client = await connect(store.url)
    await sendRequest(client, 'SET k v', 1)
    expect((await sendRequest(client, words, 2)).text).toBe(expected)
    expect((await sendRequest(client, words, 2, { dup: true })).text).toBe(expected)
    expect((await sendRequest(client, words, 3, { dup: true })).text).toBe(':0\r\n')
  })

  it('requests without DUP, from others, with other correlation data or expired count as new', async () => {
    const { store, clock } = await openStore()
    const [alice, bob] = [await connect(store.url), await connect(store.url, 'bob')]
    await sendRequest(alice, 'SET k v NX', 1)
    expect((await sendRequest(alice, 'SET k v NX', 1)).text).toBe(':-1\r\n')
    await sendRequest(alice, 'DEL k', 9)
    expect((await sendRequest(bob, 'SET k v NX', 1, { dup: true })).text).toBe('+OK\r\n')
    expect((await sendRequest(alice, 'SET k v NX', 2, { dup: true })).text).toBe(':-1\r\n')
    await sendRequest(alice, 'DEL k', 10)
    expect((await sendRequest(alice, 'SET k w NX', 20)).text).toBe('+OK\r\n')
    clock.advance(9_999)
    expect((await sendRequest(alice, 'SET k w NX', 20, { dup: true })).text).toBe('+OK\r\n')
    clock.advance(1)
    expect((await sendRequest(alice, 'SET k w NX', 20, { dup: true })).text).toBe(':-1\r\n')
  })

  it('a repeated read returns the current value', async () => {
    const { store } = await openStore()
    const client = await connect(store.url)
    expect((await sendRequest(client, 'GET k', 1)).text).toBe('$-1\r\n')
    await sendRequest(client, 'SET k v', 2)
    expect((await sendRequest(client, 'GET k', 1, { dup: true })).text).toBe('$1\r\nv\r\n')
  })

  it('a request counts as new after 8 MiB of other responses, twice the cache limit', {
    tags: 'slow',
  }, async () => {
    const { store } = await openStore()
    const client = await connect(store.url)
    await sendRequest(client, 'SET k v NX', 1)
    expect((await sendRequest(client, 'SET k v NX', 1, { dup: true })).text).toBe('+OK\r\n')
    // A reply is cached with its client id and correlation data, which are as long as MQTT permits.
    const large = Buffer.alloc(65_000)
    for (let i = 0; i < 132; i++) {
      large.writeUInt32BE(i)
      client.client.send(requestPacket('alice', command('SET other v'), 2 + i, { correlationData: large }))
    }
    await client.client.came('publish', 2 + 132)
    expect((await sendRequest(client, 'SET k v NX', 1, { dup: true })).text).toBe(':-1\r\n')
  })
})

describe('a client that, like the official Rust client, repeats unacknowledged requests in a resumed session', () => {
  it.each(['before', 'after'] as const)(
    'a repeated SET NX succeeds if the connection broke %s the first was executed',
    async moment => {
      const { store } = await openStore()
      const session = { clean: false, properties: { sessionExpiryInterval: 60 } }
      const first = await TestClient.connect(store.url, 'rust', session)
      await first.subscribe(responseTopicOf('rust'))
      const request = requestPacket('rust', command('SET lock me NX'), 7, { userProperties: { __ts: NOW } })
      // The client receives neither PUBACK nor response.
      first.socket.pause()
      if (moment === 'after') {
        first.send(request)
        await eventually(() => store.peek('lock') !== undefined)
      }
      await first.cut()
      const again = await TestClient.connect(store.url, 'rust', session)
      again.send({ ...request, dup: true })
      // The queued message arrives first, with the response to the same request.
      const answers = await again.came('publish', moment === 'after' ? 2 : 1)
      expect(answers.map(({ payload }) => textOf(Buffer.from(payload)))).toEqual(answers.map(() => '+OK\r\n'))
      expect(new Set(answers.map(({ properties }) => Object(properties?.userProperties)['__ts'])).size).toBe(1)
    },
  )
})
