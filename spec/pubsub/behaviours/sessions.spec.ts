import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { PubSubRefusedError } from '../../../src/pubsub/client/index.js'
import { eventually } from '../../support/eventually.js'
import { record } from '../../support/open-client.js'
import { openScriptedHub, openShippedHub, texts, upTo, watch } from '../support/behaviour.js'
import { PROTOCOLS } from '../support/scripted-hub.js'

/** A connection that is lost after this time is followed by an immediate reconnect, in ms. */
const STABLE = 6_000

const failure = (of: Promise<unknown>): Promise<unknown> =>
  of.then(
    () => undefined,
    error => error,
  )

describe.each(PROTOCOLS)('%s', protocol => {
  it('17. InternalServerError is retried with the same ackId, and Forbidden is not retried.', async () => {
    const { hub, client, clock } = await openScriptedHub(protocol)
    const peer = (await hub.peer(1)).greet()
    const good = lastValueFrom(client.sendEvent('good', 1))
    await peer.waitForFrames('event')
    const scheduled = clock.scheduled
    peer.ack(1n, 'InternalServerError')
    await eventually(() => clock.scheduled > scheduled)
    clock.advance(1_000)
    await peer.waitForFrames('event', 2)
    peer.ack(1n)
    expect(await good).toEqual({ ackId: 1n, duplicate: false })
    const bad = failure(lastValueFrom(client.sendEvent('bad', 2)))
    await peer.waitForFrames('event', 3)
    peer.ack(2n, 'Forbidden')
    expect(await bad).toBeInstanceOf(PubSubRefusedError)
    clock.advance(15_000)
    client.sendEvent('last', 3).subscribe({ error: () => undefined })
    await peer.waitForFrames('event', 4)
    expect(peer.of('event').map(({ event, ackId }) => [event, ackId])).toEqual([
      ['good', 1n],
      ['good', 1n],
      ['bad', 2n],
      ['last', 3n],
    ])
  })

  it('18. A drop and 1008 on recovery cause one `disconnected`, then a fresh connection.', async () => {
    const watched = await openScriptedHub(protocol)
    const received = texts(watched)
    const first = (await watched.hub.peer(1)).greet().answerRequests()
    await first.waitForFrames('joinGroup')
    first.publish(1n, 2n)
    await eventually(() => received.length === 2)
    watched.clock.advance(STABLE)
    first.drop()
    ;(await watched.hub.peer(2)).socket.close(1008, 'gone')
    const third = (await watched.hub.peer(3)).answerRequests().greet('c2', 't2').publish(1n)
    await eventually(() => received.length === 3)
    expect(third.url.search).toBe('?access_token=2')
    expect(watched.states().slice(2)).toEqual(['recovering', 'disconnected', 'connecting', 'connected'])
    expect(watched.statuses[3]).toMatchObject({ code: 1008, reason: 'gone' })
    expect(received).toEqual(['1', '2', '1'])
  })

  it('19. After 18, acknowledged groups are rejoined once, and a refused rejoin is reported.', async () => {
    const watched = await openScriptedHub(protocol)
    const { client, hub } = watched
    const left = client.group('left').messages$.subscribe()
    const [kept, refused] = [texts(watched, 'g'), texts(watched, 'refused')]
    const gaps = record(client.group('g').gaps$)
    const first = (await hub.peer(1)).greet().answerRequests()
    await first.waitForFrames('joinGroup', 3)
    left.unsubscribe()
    await first.waitForFrames('leaveGroup')
    watched.clock.advance(STABLE)
    first.drop()
    ;(await hub.peer(2)).socket.close(1008, 'gone')
    const third = (await hub.peer(3)).greet('c2', 't2')
    const joins = await third.waitForFrames('joinGroup', 2)
    for (const { group, ackId } of joins) third.ack(ackId, group === 'refused' ? 'Forbidden' : undefined)
    third.publish(1n)
    await eventually(() => kept.length === 1 && refused.length === 1)
    expect(joins.map(({ group }) => group).sort()).toEqual(['g', 'refused'])
    expect([third.of('joinGroup').length, refused, watched.errors]).toEqual([2, ['pubsub-refused'], ['pubsub-refused']])
    expect([gaps.values.length, watched.statuses.at(-1)]).toMatchObject([1, { connectionId: 'c2' }])
  })

  it('20. A recovery causes no `connected` and no join, and group messages still arrive.', async () => {
    const watched = await openScriptedHub(protocol)
    const received = texts(watched)
    const first = (await watched.hub.peer(1)).greet().answerRequests()
    await first.waitForFrames('joinGroup')
    first.publish(1n)
    await eventually(() => received.length === 1)
    first.drop()
    const second = (await watched.hub.peer(2)).answerRequests()
    await watched.reached('connected')
    second.publish(2n)
    await eventually(() => received.length === 2)
    expect([second.of('joinGroup'), watched.statuses.at(-1)]).toMatchObject([[], { connectionId: 'c1' }])
    const { hub, link, open, joined, attached, sessionLog } = await openShippedHub(protocol)
    const reader = texts(open())
    await joined()
    link.cut()
    await attached(false)
    link.restore()
    await attached(true)
    hub.sendToGroup('g', 'still here')
    await eventually(() => reader.length === 1)
    expect(sessionLog).toEqual(['connected ann'])
  })

  it.each([['502'], ['404'], ['refused TCP']])(
    '21. A failed recovery is retried until its window ends, then the client reconnects. (%s)',
    async how => {
      const watched = await openScriptedHub(protocol, { recoveryWindow: 5_000 })
      const { hub, clock, statuses, states } = watched
      const first = (await hub.peer(1)).greet()
      await watched.reached('connected')
      clock.advance(STABLE)
      const lostAt = clock.now()
      if (how === 'refused TCP') await hub.close()
      else hub.admission = Number(how)
      first.drop()
      const failures = (): number => statuses.filter(({ state }) => state === 'recovering').length
      for (let attempt = 2; states().at(-1) !== 'connecting'; attempt++) {
        await eventually(() => failures() >= attempt)
        clock.advance(1_000)
      }
      expect([clock.now() - lostAt >= 5_000, clock.now() - lostAt < 6_000, failures() >= 5]).toEqual([true, true, true])
      hub.admission = 'open'
      if (how === 'refused TCP') await hub.listen()
      // The current attempt may or may not find the port open.
      await eventually(() => hub.peers.length === 2 || states().at(-1) === 'disconnected')
      clock.advance(1_000)
      // An abandoned attempt may still arrive on a platform that cannot cancel it.
      for (let n = 2; states().at(-1) !== 'connected'; n++) {
        await eventually(() => hub.peers.length >= n || states().at(-1) === 'connected')
        hub.peers[n - 1]?.greet('c2')
      }
      expect(statuses.at(-1)).toMatchObject({ connectionId: 'c2' })
    },
  )

  it('23. A recovery takes over from an open socket without lost or duplicated messages.', async () => {
    const { hub, link, open, joined, sessionLog } = await openShippedHub(protocol)
    const ann = open()
    const received = texts(ann)
    await joined()
    const send = (from: number, to: number): void => {
      for (let i = from; i <= to; i++) hub.sendToGroup('g', i)
    }
    send(1, 3)
    await eventually(() => received.length === 3)
    const { connections } = link
    link.hangUp()
    send(4, 6)
    expect(hub.connections).toMatchObject([{ attached: true }])
    await eventually(() => received.length === 6)
    send(7, 9)
    await eventually(() => received.length === 9)
    await lastValueFrom(ann.client.group('g').send(10))
    await eventually(() => received.length === 10)
    expect([received, link.connections, sessionLog]).toEqual([upTo(10), connections + 1, ['connected ann']])
  })

  it('24. Half-open links are pinged, closed and recovered, and hung connects abandoned.', async () => {
    const { hub, clock, statuses, reached } = await openScriptedHub(protocol)
    const peer = (await hub.peer(1)).greet()
    await reached('connected')
    clock.advance(20_000)
    await peer.waitForFrames('ping')
    hub.admission = 'hanging'
    clock.advance(20_000)
    await eventually(() => hub.refused === 1 && peer.closeCode !== undefined)
    expect(peer.closeCode).toBe(1005)
    clock.advance(4_000)
    expect(statuses.at(-1)).toMatchObject({ state: 'recovering', attempt: 2 })
    hub.admission = 'open'
    clock.advance(1_000)
    ;(await hub.peer(2)).answerRequests()
    await reached('connected')
    expect(statuses.at(-1)).toMatchObject({ connectionId: 'c1' })
  })

  it.each(['connecting', 'connected', 'recovering', 'disconnected'] as const)(
    '25. stop() ends all activity, fires `stopped` once, and a later start() connects. (%s)',
    async state => {
      const watched = await openScriptedHub(protocol, { reconnectStrategy: () => 1_000 })
      const { hub, clock, states, client } = watched
      const peer = await hub.peer(1)
      if (state !== 'connecting') {
        peer.greet()
        await watched.reached('connected')
        hub.admission = 'hanging'
        if (state === 'recovering') peer.drop()
        if (state === 'disconnected') peer.socket.close(1008)
      }
      await watched.reached(state)
      if (state === 'recovering') await eventually(() => hub.refused === 1)
      await client.close()
      expect([states().at(-1), clock.pending]).toEqual(['stopped', 0])
      clock.advance(120_000)
      expect(states().filter(name => name === 'stopped')).toHaveLength(1)
      hub.admission = 'open'
      const before = hub.peers.length
      const again = watch(hub.url, { protocol })
      ;(await hub.peer(before + 1)).greet('c2')
      await again.reached('connected')
    },
  )
})
