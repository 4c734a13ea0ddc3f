import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import type { Identity } from '../../../src/pubsub/hub/index.js'
import { eventually } from '../../support/eventually.js'
import { RawSocket } from '../../support/raw-socket.js'
import { openHub } from '../support/open-hub.js'
import { JSON_PROTOCOL, RawPubSubClient } from '../support/raw-pubsub-client.js'

const KEY = 'a key of no less than thirty-two bytes'
const refusalOf = async (url: string, protocols: string | readonly string[] = JSON_PROTOCOL): Promise<string> =>
  RawPubSubClient.open(url, protocols).then(
    () => 'accepted',
    error => error.message,
  )

describe('the handshake', () => {
  it.each([
    ['/client/hubs/chat', 'chat'],
    ['/client/?hub=chat', 'chat'],
    ['/client?hub=chat', 'chat'],
    ['/client/hubs/Chat', 'chat'],
    ['/client/hubs/constructor', 'constructor'],
  ])('the path %s connects to the hub %s', async (path, hub) => {
    const { server } = await openHub()
    await RawPubSubClient.connect(server.url + path)
    expect(server.hub(hub).connections).toHaveLength(1)
  })

  it.each([
    ['/', 404],
    ['/client/hubs', 404],
    ['/clients/hubs/chat', 404],
    ['//client/hubs/chat', 404],
    ['/client', 400],
    ['/client/?hub=', 400],
    ['/client/hubs/', 400],
    ['/client/hubs/__proto__', 400],
    ['/client/hubs/chat/', 400],
    ['/client/hubs/%E0%A4%A', 400],
    ['/client/hubs/unheard', 404],
  ])('the path %s is refused with %i', async (path, status) => {
    const { server } = await openHub({ hubs: ['Chat'] })
    expect(await refusalOf(server.url + path)).toMatch(new RegExp(`^${status} \\w`))
  })

  it('the hub chooses the first supported subprotocol, in the spelling of the client', async () => {
    const { hub } = await openHub()
    const offered = ['mqtt', 'JSON.Reliable.WebPubSub.Azure.V1', 'protobuf.reliable.webpubsub.azure.v1']
    const client = await RawPubSubClient.open(hub.url, offered)
    expect(client.socket.protocol).toBe(offered[1])
    await client.settled()
  })

  it.each([[[]], [['json.webpubsub.azure.v1']]])('a client that offers %s is refused', async protocols => {
    const { hub } = await openHub()
    expect(await refusalOf(hub.url, protocols)).toMatch(/^400 Offer the subprotocol json\.reliable/)
  })

  it('a plain HTTP request is refused with an explanation', async () => {
    const { hub } = await openHub()
    const response = await fetch(hub.url.replace('ws', 'http'))
    expect([response.status, await response.text()]).toEqual([400, 'This is a Web PubSub hub: use WebSocket\n'])
  })

  it('the session limit includes detached sessions', async () => {
    const { hub, server } = await openHub({ maxConnections: 2 })
    const [first] = [await RawPubSubClient.connect(hub.url), await RawPubSubClient.connect(server.hub('b').url)]
    expect(await refusalOf(hub.url)).toMatch(/^503 /)
    first.cut()
    expect(await refusalOf(hub.url)).toMatch(/^503 /)
    await RawPubSubClient.recover(hub.url, first)
    hub.closeConnection(first.connectionId)
    expect(await refusalOf(hub.url)).toBe('accepted')
  })

  it('times out if authentication never completes', async () => {
    const { hub, clock } = await openHub({ authenticate: async () => new Promise<never>(() => undefined) })
    const refusal = refusalOf(hub.url)
    const scheduled = clock.scheduled
    while (clock.scheduled === scheduled) await new Promise(resolve => setImmediate(resolve))
    clock.advance(10_000)
    expect(await refusal).toMatch(/^503 /)
  })

  it('a recovery does not wait behind pending handshakes', { tags: 'slow' }, async () => {
    let asked = 0
    const { hub, server } = await openHub({
      authenticate: async ({ query }) => {
        if (query.has('known')) return {}
        asked++
        return new Promise<never>(() => undefined)
      },
    })
    const client = await RawPubSubClient.connect(`${hub.url}?known`)
    const strangers = Array.from({ length: 1_000 }, () => refusalOf(hub.url).catch(() => 'cut'))
    await eventually(() => asked === 1_000)
    expect(await refusalOf(`${hub.url}?known`)).toMatch(/^503 /)
    client.cut()
    const recovered = await RawPubSubClient.recover(hub.url, client)
    await recovered.settled()
    expect(hub.connections).toMatchObject([{ connectionId: client.connectionId, attached: true }])
    await server.close()
    await Promise.all(strangers)
  })

  it('closing the server disconnects pending handshakes', async () => {
    let asked = false
    const { hub, server, clock } = await openHub({
      authenticate: async () => {
        asked = true
        return new Promise<never>(() => undefined)
      },
    })
    const refusal = refusalOf(hub.url)
    await eventually(() => asked)
    await server.close()
    expect(await refusal).toMatch(/socket hang up|ECONNRESET/)
    expect(clock.pending).toBe(0)
  })

  it('clients that disconnect during the handshake do not affect other clients', async () => {
    const { hub, server } = await openHub({ authenticate: async () => ({}) })
    for (let i = 0; i < 20; i++) {
      const raw = await RawSocket.open(server.url)
      await raw.send(`GET /client/hubs/chat HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`)
      raw.reset()
    }
    await RawPubSubClient.connect(hub.url)
  })

  it('with two Host headers is rejected', async () => {
    const { server } = await openHub()
    const raw = await RawSocket.open(server.url)
    await raw.send(
      'GET /client/hubs/chat HTTP/1.1\r\nHost: x\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    )
    await raw.closed
    expect(String(await raw.first())).toMatch(/^HTTP\/1\.1 400 [\s\S]*more than one Host header/)
  })
})

describe('an access token', () => {
  it('a token grants its identity, roles and groups', async () => {
    const { hub } = await openHub({ authenticate: { key: KEY } })
    const roles = ['webpubsub.sendToGroup.a']
    const { url } = await hub.token({ userId: '__proto__', roles, groups: ['a', 'constructor'] })
    const client = await RawPubSubClient.connect(url)
    expect(client.frames[0]).toMatchObject({ userId: '__proto__' })
    expect(hub.connections).toMatchObject([{ userId: '__proto__', groups: ['a', 'constructor'] }])
    const frame = { type: 'sendToGroup', group: 'a', dataType: 'text', data: 'x' }
    expect(await client.request(frame)).toMatchObject({ success: true })
    expect(await client.request({ ...frame, group: 'constructor' })).toMatchObject({ error: { name: 'Forbidden' } })
    expect(await client.request({ type: 'joinGroup', group: 'b' })).toMatchObject({ error: { name: 'Forbidden' } })
    expect(client.messages).toMatchObject([{ fromUserId: '__proto__' }])
    expect(hub.sendToUser('__proto__', 1)).toBe(1)
    expect(hub.sendToUser('constructor', 1)).toBe(0)
  })

  it.each(['a`b', 'a,b', 'a.b', 'a[b]', 'A_b'])(
    'a token of the hub %s lets a client connect to that hub',
    async name => {
      const { server } = await openHub({ authenticate: { key: KEY } })
      const { url } = await server.hub(name).token({ userId: 'ann' })
      const client = await RawPubSubClient.connect(url)
      expect(client.frames[0]).toMatchObject({ userId: 'ann' })
    },
  )

  it('a token is accepted in the Authorization header', async () => {
    const { hub } = await openHub({ authenticate: { key: KEY } })
    const { token } = await hub.token()
    const socket = await RawSocket.open(hub.url)
    await socket.send(
      [
        'GET /client/hubs/chat HTTP/1.1',
        'Host: localhost',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Protocol: ${JSON_PROTOCOL}`,
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        `Authorization: Bearer ${token}`,
        '\r\n',
      ].join('\r\n'),
    )
    expect((await socket.first(12)).toString()).toMatch(/^HTTP\/1.1 101/)
  })

  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const NOW = 1_696_374_425
  const claims = { aud: 'https://some.host/client/hubs/chat', exp: NOW + 60, sub: 'ann' }
  const sign = async (payload: object, key = KEY, alg = 'HS256') =>
    new SignJWT({ ...payload }).setProtectedHeader({ alg }).sign(new TextEncoder().encode(key))

  it.each<[string, () => Promise<string>]>([
    ['signed as Azure signs it', () => sign(claims)],
    ['for one of several audiences', () => sign({ ...claims, aud: ['https://else.where/', claims.aud] })],
    ['for the hub, spelled in another case', () => sign({ ...claims, aud: 'http://h/client/hubs/CHAT' })],
    ['for an audience with the WebSocket scheme', () => sign({ ...claims, aud: 'wss://h/client/hubs/chat' })],
    ['expired four minutes ago', () => sign({ ...claims, exp: NOW - 240 })],
    ['with one role and one group', () => sign({ ...claims, role: 'a', 'webpubsub.group': 'g' })],
  ])('a token is accepted if it is %s', async (_, make) => {
    const { hub } = await openHub({ authenticate: { key: KEY } })
    const client = await RawPubSubClient.connect(`${hub.url}?access_token=${await make()}`)
    expect(client.frames[0]).toMatchObject({ userId: 'ann' })
  })

  it.each<[string, () => Promise<string>]>([
    ['missing', async () => ''],
    ['nonsense', async () => 'a.b.c'],
    ['not signed', async () => `${encode({ alg: 'none' })}.${encode(claims)}.`],
    [
      'unsigned, as its header says',
      async () => `${encode({ alg: 'none' })}.${encode(claims)}.${(await sign(claims)).split('.')[2]}`,
    ],
    ['signed with another key', () => sign(claims, `${KEY}!`)],
    ['signed with another algorithm', () => sign(claims, KEY.repeat(2), 'HS512')],
    ['changed', async () => (await sign(claims)).replace(/\.[^.]+\./, `.${encode({ ...claims, sub: 'eve' })}.`)],
    ['expired', () => sign({ ...claims, exp: NOW - 301 })],
    ['without an expiry', () => sign({ aud: claims.aud })],
    ['not valid yet', () => sign({ ...claims, nbf: NOW + 301 })],
    ['for another hub', () => sign({ ...claims, aud: 'https://some.host/client/hubs/other' })],
    ['for another path', () => sign({ ...claims, aud: 'https://some.host/api/client/hubs/chat' })],
    ['without an audience', () => sign({ exp: claims.exp })],
    ['for an audience that is not a URL', () => sign({ ...claims, aud: '/client/hubs/chat' })],
    ['for a blank group', () => sign({ ...claims, 'webpubsub.group': [' '] })],
    ['for a user that is not text', () => sign({ ...claims, sub: 7 })],
  ])('a token is refused if it is %s', async (_, make) => {
    const { hub, sessionLog } = await openHub({ authenticate: { key: KEY } })
    expect(await refusalOf(`${hub.url}?access_token=${await make()}`)).toMatch(/^401 \w/)
    expect(sessionLog).toEqual([])
  })

  it('creating a token requires a server with a key', async () => {
    const { hub } = await openHub()
    await expect(hub.token()).rejects.toMatchObject({ code: 'argument' })
  })

  it.each([{ expiresIn: 0 }, { expiresIn: Number.NaN }, { groups: [''] }, { userId: '\ud800' }])(
    'a token cannot be created for %o',
    async options => {
      const { hub } = await openHub({ authenticate: { key: KEY } })
      await expect(hub.token(options)).rejects.toMatchObject({ code: 'argument' })
    },
  )
})

describe('an authentication function', () => {
  it('receives the connect request and decides about the client', async () => {
    const { hub } = await openHub({
      authenticate: ({ hub: name, query, accessToken, headers }) =>
        query.get('door') === 'open' && { userId: `${name} ${accessToken} ${headers.upgrade}`, groups: ['g'] },
    })
    expect(await refusalOf(hub.url)).toBe('401 The connection is refused')
    const client = await RawPubSubClient.connect(`${hub.url}?door=open&access_token=t`)
    expect(client.frames[0]).toMatchObject({ userId: 'chat t websocket' })
  })

  it.each<[string, () => Identity]>([
    ['throws', () => JSON.parse('nonsense')],
    ['returns null', () => JSON.parse('null')],
    ['returns an invalid identity', () => ({ groups: [''] })],
    ['returns roles that are not an array', () => JSON.parse('{"roles":"x"}')],
  ])('a client is refused if the function %s', async (_, authenticate) => {
    const { hub } = await openHub({ authenticate })
    expect(await refusalOf(hub.url)).toBe('500 Authentication failed')
  })
})
