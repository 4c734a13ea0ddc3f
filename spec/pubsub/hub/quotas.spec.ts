import { describe, expect, it } from 'vitest'
import type { AuditEvent } from '../../../src/pubsub/server.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

const NAMED = ({ query }: { readonly query: URLSearchParams }) => {
  const userId = query.get('user')
  return userId === null ? false : { userId, roles: ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup'] }
}

async function open(options: Parameters<typeof openHub>[0] = {}) {
  const all = await openHub({ authenticate: NAMED, ...options })
  const events: AuditEvent[] = []
  all.server.audit$.subscribe(event => events.push(event))
  const come = async (user?: string) =>
    RawPubSubClient.connect(`${all.hub.url}${user === undefined ? '' : `?user=${user}`}`)
  return { ...all, come, events }
}

describe('A hub', () => {
  it('lets a user have so many sessions', async () => {
    const { come } = await open({ maxConnectionsPerUser: 2 })
    await come('ann')
    await come('ann')
    await expect(come('ann')).rejects.toThrow('503 There are too many connections of the same user')
    await come('bob')
  })

  it('reads more slowly from a user who sends too much, and loses nothing', async () => {
    const { come, clock, hub, server } = await open({ maxFrameRatePerUser: 10 })
    const heard: unknown[] = []
    hub.events$.subscribe(event => {
      heard.push(event.event)
      event.accept()
    })
    const [ann, bob] = [await come('ann'), await come('bob')]
    for (let i = 0; i < 25; i++) ann.send({ type: 'event', event: 'e', dataType: 'text', data: '', ackId: i + 1 })
    await ann.seen(({ type, ackId }) => type === 'ack' && ackId === 11)
    bob.send({ type: 'event', event: 'b', dataType: 'text', data: '', ackId: 1 })
    await bob.seen(({ type, ackId }) => type === 'ack' && ackId === 1)
    expect(heard).toHaveLength(12)
    expect(server.pauses).toBe(1)
    for (let i = 12; i <= 25; i++) {
      clock.advance(100)
      await ann.seen(({ type, ackId }) => type === 'ack' && ackId === i)
    }
    expect(heard).toHaveLength(26)
  })

  it('puts on record who came, and lets who is refused again and again wait', async () => {
    const { come, events, clock } = await open()
    await come('ann')
    for (let i = 0; i < 5; i++) await expect(come()).rejects.toThrow('401')
    await expect(come()).rejects.toThrow('429 Too many were refused; wait 1 s')
    clock.advance(1_000)
    await come('bob')
    expect(events[0]).toMatchObject({
      event: 'login',
      outcome: 'accepted',
      username: 'ann',
      listener: 'hub',
      target: 'chat',
    })
    expect(events.filter(({ outcome }) => outcome === 'refused')).toHaveLength(6)
  })

  it.each(['maxConnectionsPerUser', 'maxConnectionsPerAddress', 'maxFrameRatePerUser', 'maxByteRatePerUser'] as const)(
    'takes no %s of nothing',
    async name => {
      await expect(openHub({ [name]: 0 })).rejects.toThrow(`\`${name}\``)
    },
  )

  it.each(['https://panel.example', 'wss://panel.example/path', 'panel'])('takes no publicUrl %s', async publicUrl => {
    await expect(openHub({ publicUrl })).rejects.toThrow('`publicUrl`')
  })
})
