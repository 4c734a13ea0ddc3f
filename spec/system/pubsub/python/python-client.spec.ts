import { beforeAll, describe, expect, it } from 'vitest'
import { installPython, PythonClient } from '../../../pubsub/python/python-client.js'
import { through, upTo } from '../../../pubsub/support/behaviour.js'
import { openHub } from '../../../pubsub/support/open-hub.js'
import { RawPubSubClient } from '../../../pubsub/support/raw-pubsub-client.js'
import { eventually } from '../../../support/eventually.js'
import { layLink } from '../../../support/link.js'

const roles = ['webpubsub.joinLeaveGroup.news', 'webpubsub.sendToGroup.news']
/** The timeout in ms. Python takes a second or two to start, and the client has delays. */
const TIMEOUT_MS = 90_000

/** Sorts the log, because the client handles each message in a thread and the order varies. */
const sorted = (log: readonly string[]): string[] => log.slice(1).sort()
const expectedLog = (count: number): string[] =>
  upTo(count)
    .map(data => `"news", "type": "json", "data": ${data}`)
    .sort()

async function open() {
  const opened = await openHub({ authenticate: ({ query }) => ({ userId: query.get('user') ?? 'ann', roles }) })
  const link = await layLink(opened.server.url)
  const client = new PythonClient(through(opened.hub.url, link))
  expect(await client.call('open')).toBe('done')
  expect(await client.logged(1)).toEqual(['connected ann'])
  return { ...opened, link, client }
}

describe('the official Python client', { timeout: TIMEOUT_MS }, () => {
  beforeAll(installPython, 300_000)

  it('the Python client joins, sends, receives and leaves', async () => {
    const { hub, client, sessionLog } = await open()
    expect(await client.call('join', ['news'])).toBe('done')
    expect(await client.call('send', ['news', { a: [1, null] }, 'json'])).toBe('done')
    expect(await client.call('send', ['news', 'grün', 'text'])).toBe('done')
    expect(await client.call('send', ['news', 'AQID', 'binary'])).toBe('done')
    expect(await client.call('send', ['news', 'quiet', 'text'], { no_echo: true })).toBe('done')
    hub.sendToUser('ann', 'hello')
    expect(sorted(await client.logged(5))).toEqual([
      '"news", "type": "binary", "data": "AQID"',
      '"news", "type": "json", "data": {"a": [1, null]}',
      '"news", "type": "text", "data": "gr\\u00fcn"',
      'null, "type": "json", "data": "hello"',
    ])
    expect(await client.call('leave', ['news'])).toBe('done')
    expect(hub.sendToGroup('news', 'gone')).toBe(0)
    expect(sessionLog).toEqual(['connected ann'])
    expect(await client.call('close')).toBe('done')
    await eventually(() => hub.connections.every(({ attached }) => !attached))
  })

  it('members receive numbers beyond the precision of JavaScript unchanged', async () => {
    const { hub, client } = await open()
    const member = await RawPubSubClient.connect(`${hub.url}?user=bob`)
    const texts: string[] = []
    member.socket.on('message', data => texts.push(String(data)))
    await member.join('news')
    await client.call('join', ['news'])
    const sender = await RawPubSubClient.connect(`${hub.url}?user=eve`)
    sender.send('{"type":"sendToGroup","group":"news","ackId":1,"data":[12345678901234567890, 1.0, 1e-400]}')
    expect((await client.logged(2))[1]).toBe('"news", "type": "json", "data": [12345678901234567890, 1.0, 0.0]')
    await eventually(() => texts.length === 2)
    expect(texts[1]).toContain('"data":[12345678901234567890, 1.0, 1e-400],')
  })

  it('the Python client gets the name of the error of a denied request', async () => {
    const { client } = await open()
    expect(await client.call('join', ['old'])).toBe('Forbidden')
    expect(await client.call('send', ['old', 1, 'json'])).toBe('Forbidden')
  })

  it('the Python client sends events and receives replies', async () => {
    const { hub, client } = await open()
    hub.events$.subscribe(event => event.reply({ heard: event.payload.data }))
    expect(await client.call('event', ['say', 'hi', 'text'])).toBe('done')
    expect((await client.logged(2))[1]).toBe('null, "type": "json", "data": {"heard": "hi"}')
  })

  it('the Python client gets `Duplicate` for a send with the same ackId', async () => {
    const { client } = await open()
    await client.call('join', ['news'])
    for (const data of [1, 1, 2]) {
      expect(await client.call('send', ['news', data, 'json'], { ack_id: 70 + data })).toBe('done')
    }
    expect(sorted(await client.logged(3))).toEqual([
      '"news", "type": "json", "data": 1',
      '"news", "type": "json", "data": 2',
    ])
  })

  it('the Python client recovers without losing messages', async () => {
    const { hub, client, link, sessionLog } = await open()
    await client.call('join', ['news'])
    let sent = 0
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 50; i++) hub.sendToGroup('news', ++sent)
      link.cut()
      await eventually(() => hub.connections[0]?.attached === false)
      for (let i = 0; i < 50; i++) hub.sendToGroup('news', ++sent)
      link.restore()
      await client.logged(1 + sent)
    }
    expect(sorted(client.log)).toEqual(expectedLog(200))
    expect(hub.connections).toMatchObject([{ groups: ['news'] }])
    expect(sessionLog).toEqual(['connected ann'])
  })

  it('the Python client begins a new session and rejoins its groups', async () => {
    const { hub, client, sessionLog } = await open()
    await client.call('join', ['news'])
    hub.closeConnection(hub.connections[0]?.connectionId ?? '', 'maintenance')
    await eventually(() => hub.connections[0]?.groups.includes('news') === true)
    hub.sendToGroup('news', 'again')
    await eventually(() => client.log.includes('"news", "type": "json", "data": "again"'))
    expect(sessionLog).toEqual(['connected ann', 'disconnected ann: hub', 'connected ann'])
  })

  it('a burst does not end the session of a Python client that acknowledges once a second', async () => {
    const { hub, client, sessionLog } = await open()
    await client.call('join', ['news'])
    const sender = await RawPubSubClient.connect(`${hub.url}?user=eve`)
    for (const ackId of upTo(2_500)) sender.send({ type: 'sendToGroup', group: 'news', data: ackId, ackId })
    await client.logged(2_501)
    expect(sorted(client.log)).toEqual(expectedLog(2_500))
    expect(sessionLog).toEqual(['connected ann', 'connected eve'])
  })
})
