import { WebPubSubClient, type WebPubSubClientOptions, WebPubSubJsonReliableProtocol } from '@azure/web-pubsub-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/core/util/clock.js'
import type { ServePubSubOptions } from '../../../src/pubsub/hub/index.js'
import { nightly } from '../../support/effort.js'
import { eventually } from '../../support/eventually.js'
import { layLink } from '../../support/link.js'
import { upTo } from '../support/behaviour.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

const KEY = 'a key of no less than thirty-two bytes'
const ROLES = ['webpubsub.joinLeaveGroup.news', 'webpubsub.sendToGroups.new?']

/** Opens the official client, connected to the hub through a link that can be cut. */
async function openClient(userId = 'ann', options: Partial<ServePubSubOptions> = {}) {
  const opened = await openHub({ authenticate: { key: KEY }, ...options })
  const link = await layLink(opened.server.url)
  const through = async (user: string): Promise<string> => {
    const { url } = await opened.hub.token({ userId: user, roles: ROLES })
    const target = new URL(url)
    target.port = new URL(link.url).port
    return target.href
  }
  const connect = async (user: string, options: WebPubSubClientOptions = {}) => {
    const client = new WebPubSubClient(
      { getClientAccessUrl: async () => through(user) },
      { protocol: WebPubSubJsonReliableProtocol(), ...options },
    )
    const log: unknown[] = []
    client.on('connected', event => log.push(['connected', event.userId]))
    client.on('disconnected', () => log.push('disconnected'))
    client.on('group-message', ({ message }) => log.push([message.group, message.dataType, message.data]))
    client.on('server-message', ({ message }) => log.push(['server', message.dataType, message.data]))
    onTestFinished(() => client.stop())
    await client.start()
    await eventually(() => log.length > 0)
    return { client, log }
  }
  return { ...opened, link, connect, ...(await connect(userId)) }
}

describe('the official client', () => {
  it('connects, joins, sends, receives and leaves', async () => {
    const { hub, client, log, sessionLog } = await openClient()
    expect(await client.joinGroup('news')).toMatchObject({ isDuplicated: false })
    await client.sendToGroup('news', { a: 1 }, 'json')
    await client.sendToGroup('news', 'text', 'text')
    await client.sendToGroup('news', new Uint8Array([1, 2]).buffer, 'binary')
    await client.sendToGroup('news', 'quiet', 'text', { noEcho: true })
    hub.sendToUser('ann', 'hello')
    hub.sendToGroup('news', 'from the application', { dataType: 'text' })
    await eventually(() => log.length === 6)
    await client.leaveGroup('news')
    expect(hub.sendToGroup('news', 'gone')).toBe(0)
    expect(log).toEqual([
      ['connected', 'ann'],
      ['news', 'json', { a: 1 }],
      ['news', 'text', 'text'],
      ['news', 'binary', new Uint8Array([1, 2]).buffer],
      ['server', 'json', 'hello'],
      ['news', 'text', 'from the application'],
    ])
    expect(sessionLog).toEqual(['connected ann'])
  })

  it('gets the name of the error of a denied request', async () => {
    const { connect } = await openClient()
    const { client } = await connect('bob', { messageRetryOptions: { maxRetries: 0 } })
    for (const attempt of [client.joinGroup('old'), client.sendToGroup('old', 1, 'json')]) {
      await expect(attempt).rejects.toMatchObject({ errorDetail: { name: 'Forbidden' } })
    }
  })

  it('sends events and receives replies', async () => {
    const { hub, client, log } = await openClient()
    hub.events$.subscribe(event => event.reply({ heard: event.payload.data }))
    await client.sendEvent('say', 'hi', 'text')
    await eventually(() => log.length === 2)
    expect(log[1]).toEqual(['server', 'json', { heard: 'hi' }])
  })

  it('gets `Duplicate` for a resend with the same ackId', async () => {
    const { client, log } = await openClient()
    await client.joinGroup('news')
    await client.sendToGroup('news', 1, 'json', { ackId: 77 })
    expect(await client.sendToGroup('news', 1, 'json', { ackId: 77 })).toMatchObject({ isDuplicated: true })
    await client.sendToGroup('news', 2, 'json')
    await eventually(() => log.length === 3)
    expect(log.slice(1)).toEqual([
      ['news', 'json', 1],
      ['news', 'json', 2],
    ])
  })

  it('recovers without losing messages', async () => {
    const { hub, client, log, link, sessionLog } = await openClient()
    await client.joinGroup('news')
    const { connectionId } = hub.connections[0] ?? {}
    let sent = 0
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 50; i++) hub.sendToGroup('news', ++sent)
      link.cut()
      for (let i = 0; i < 50; i++) hub.sendToGroup('news', ++sent)
      link.restore()
      await eventually(() => hub.connections[0]?.attached === true && log.length === 1 + sent)
    }
    expect(log.slice(1)).toEqual(Array.from({ length: 300 }, (_, i) => ['news', 'json', i + 1]))
    expect(hub.connections).toMatchObject([{ connectionId, groups: ['news'] }])
    expect(sessionLog).toEqual(['connected ann'])
  })

  it.each([
    ['another', nightly(10_000, 2_500)],
    ['itself', 2_500],
  ])(
    'a burst from %s of %i messages does not end a member that acks once a second',
    { tags: 'slow', timeout: 120_000 },
    async (from, count) => {
      // The test runs on real time, because the hub limits the rate of a client per second.
      const { hub, client, log, sessionLog } = await openClient('ann', { clock: systemClock })
      await client.joinGroup('news')
      const publish = { type: 'sendToGroup', group: 'news', dataType: 'json', data: 1 }
      if (from === 'itself') await Promise.all(upTo(count).map(data => client.sendToGroup('news', data, 'json')))
      else {
        const { url } = await hub.token({ userId: 'ann', roles: ROLES })
        const sender = await RawPubSubClient.connect(url)
        for (const data of upTo(count)) sender.send({ ...publish, data, ackId: data })
      }
      await eventually(() => log.length > count)
      expect(log.slice(1)).toEqual(upTo(count).map(data => ['news', 'json', data]))
      expect(sessionLog.filter(line => line.startsWith('disconnected'))).toEqual([])
    },
  )

  it('begins a new session and rejoins its groups', async () => {
    const { hub, client, log, sessionLog } = await openClient()
    await client.joinGroup('news')
    const { connectionId = '' } = hub.connections[0] ?? {}
    hub.closeConnection(connectionId, 'maintenance')
    await eventually(() => log.length === 3)
    hub.sendToGroup('news', 'again')
    await eventually(() => log.length === 4)
    expect(log).toEqual([['connected', 'ann'], 'disconnected', ['connected', 'ann'], ['news', 'json', 'again']])
    expect(sessionLog).toEqual(['connected ann', 'disconnected ann: hub', 'connected ann'])
  })
})
