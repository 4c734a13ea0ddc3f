import { WebPubSubClient, type WebPubSubClientOptions, WebPubSubJsonReliableProtocol } from '@azure/web-pubsub-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { openShippedHub, upTo } from '../support/behaviour.js'
import { CodecClient } from '../support/codec-client.js'

/** Opens the official client with short retry delays, connected to the shipped hub through a link that can be cut. */
async function openOfficial(options: WebPubSubClientOptions = {}) {
  const opened = await openShippedHub('json')
  const retry = { retryDelayInMs: 5, maxRetries: 10_000 }
  const client = new WebPubSubClient(opened.urlOf('ann'), {
    protocol: WebPubSubJsonReliableProtocol(),
    messageRetryOptions: retry,
    reconnectRetryOptions: retry,
    ...options,
  })
  const log: string[] = []
  const received: unknown[] = []
  client.on('connected', ({ userId }) => log.push(`connected ${userId}`))
  client.on('disconnected', () => log.push('disconnected'))
  client.on('stopped', () => log.push('stopped'))
  client.on('rejoin-group-failed', ({ group }) => log.push(`not in ${group} again`))
  client.on('group-message', ({ message }) => received.push(message.data))
  onTestFinished(() => client.stop())
  await client.start()
  await eventually(() => log.length === 1)
  return { ...opened, client, log, received }
}

describe('the official client', () => {
  it('1. and 2. connects, joins, sends messages and events, and leaves', async () => {
    const { hub, client, log, received } = await openOfficial()
    const events: unknown[] = []
    hub.events$.subscribe(event => {
      events.push(event.payload.data)
      event.accept()
    })
    await client.joinGroup('g')
    await Promise.all([client.sendToGroup('g', 1, 'json'), client.sendEvent('e', 'hi', 'text')])
    await eventually(() => received.length === 1)
    await client.leaveGroup('g')
    expect([hub.sendToGroup('g', 2), events, log]).toEqual([0, ['hi'], ['connected ann']])
  })

  it('4. receives no echo with noEcho', async () => {
    const { hub, client, received } = await openOfficial()
    const bob = await CodecClient.join(hub.url, 'protobuf')
    await client.joinGroup('g')
    await client.sendToGroup('g', 'quiet', 'text', { noEcho: true })
    await client.sendToGroup('g', 'loud', 'text')
    await Promise.all([eventually(() => received.length === 1), bob.received(2)])
    expect(received).toEqual(['loud'])
  })

  it('10. and 20. recovers without lost or repeated messages or new joins', {
    tags: 'slow',
  }, async () => {
    const { hub, client, link, attached, log, received, sessionLog } = await openOfficial()
    await client.joinGroup('g')
    for (let i = 1; i <= 5; i++) hub.sendToGroup('g', i)
    await eventually(() => received.length === 5)
    link.cut()
    await attached(false)
    for (let i = 6; i <= 8; i++) hub.sendToGroup('g', i)
    link.restore()
    await eventually(() => received.length === 8)
    expect([received, log, sessionLog]).toEqual([upTo(8), ['connected ann'], ['connected ann']])
  })

  it('16. resends with the same id after a lost ack', async () => {
    const { hub, client, link, received } = await openOfficial()
    const bob = await CodecClient.join(hub.url, 'json')
    await client.joinGroup('g')
    link.stall('down')
    const result = client.sendToGroup('g', 'once', 'text', { ackId: 7_000 })
    await bob.received(1)
    link.cut()
    link.restore()
    expect(await result).toMatchObject({ ackId: 7_000, isDuplicated: true })
    await client.sendToGroup('g', 'twice', 'text')
    await eventually(() => received.length === 2)
    expect([received, await bob.received(2)]).toEqual([
      ['once', 'twice'],
      [1n, 2n],
    ])
  })

  it('18. and 19. rejoins its groups after a lost session', { tags: 'slow' }, async () => {
    const { hub, client, clock, link, attached, log, received, joined } = await openOfficial()
    await client.joinGroup('g')
    await client.joinGroup('left')
    await client.leaveGroup('left')
    link.cut()
    await attached(false)
    clock.advance(60_000)
    expect(hub.connections).toEqual([])
    link.restore()
    await joined()
    hub.sendToGroup('g', 'again')
    await eventually(() => received.length === 1 && log.length === 3)
    expect(log).toEqual(['connected ann', 'disconnected', 'connected ann'])
    expect(hub.connections).toMatchObject([{ groups: ['g'] }])
  })

  it('23. takes over its session while the hub considers the old one alive', async () => {
    const { hub, client, link, received, sessionLog } = await openOfficial()
    await client.joinGroup('g')
    link.hangUp()
    for (let i = 1; i <= 3; i++) hub.sendToGroup('g', i)
    await eventually(() => received.length === 3)
    expect([received, sessionLog]).toEqual([upTo(3), ['connected ann']])
  })

  it('25. can be stopped and started again', async () => {
    const { hub, client, log } = await openOfficial({ autoRejoinGroups: false })
    await client.joinGroup('g')
    client.stop()
    await eventually(() => log.includes('stopped'))
    await client.start()
    await eventually(() => log.length === 4)
    expect(log).toEqual(['connected ann', 'disconnected', 'stopped', 'connected ann'])
    expect(hub.connections.filter(({ attached }) => attached)).toHaveLength(1)
  })
})
