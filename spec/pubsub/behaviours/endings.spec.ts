import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { openScriptedHub, openShippedHub, texts } from '../support/behaviour.js'
import { PROTOCOLS } from '../support/scripted-hub.js'

describe.each(PROTOCOLS)('%s', protocol => {
  it('a client reports the reason with which the application closed its connection', async () => {
    const { hub, open } = await openShippedHub(protocol)
    const { reached, statuses, states } = open()
    await reached('connected')
    hub.closeConnection(hub.connections[0]?.connectionId ?? '', 'licence expired')
    await eventually(() => states().includes('disconnected'))
    expect(statuses.find(({ state }) => state === 'disconnected')).toMatchObject({ reason: 'licence expired' })
  })

  it('a client reports its session as lost when the hub replaces the session during a recovery', async () => {
    const watched = await openScriptedHub(protocol)
    const received = texts(watched)
    const gaps: string[] = []
    watched.client.group('g').gaps$.subscribe(({ group }) => gaps.push(group))
    const first = (await watched.hub.peer(1)).greet().answerRequests().publish(1n, 2n)
    await first.waitForFrames('joinGroup')
    await eventually(() => received.length === 2)
    first.drop()
    const second = (await watched.hub.peer(2)).answerRequests().greet('c2', 't2')
    await second.waitForFrames('joinGroup')
    second.publish(1n)
    await eventually(() => received.length === 3)
    expect(watched.states().slice(2)).toEqual(['recovering', 'disconnected', 'connected'])
    expect([received, gaps, watched.statuses.at(-1)]).toMatchObject([['1', '2', '1'], ['g'], { connectionId: 'c2' }])
  })

  it('the client rejects a payload for which the hub would end the session', async () => {
    const { open, hub } = await openShippedHub(protocol)
    const { client, reached, states } = open()
    await reached('connected')
    const levels = (count: number): unknown => JSON.parse('['.repeat(count) + ']'.repeat(count))
    const refused = lastValueFrom(client.group('g').send(levels(512)))
    await expect(refused).rejects.toMatchObject({ code: 'argument' })
    await lastValueFrom(client.group('g').send(levels(511)))
    const any = Uint8Array.of(0x0a, 1, 0x78)
    await lastValueFrom(client.group('g').send(any, { dataType: 'protobuf' }))
    expect([states(), hub.connections.length]).toEqual([['connecting', 'connected'], 1])
  })
})
