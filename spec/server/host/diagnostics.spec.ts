import { connect as connectTcp } from 'node:net'
import { filter, firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { lease } from '../../../src/client/lease/index.js'
import { subscribe } from '../../../src/core/diagnostics/index.js'
import { displayText } from '../../../src/core/util/bytes.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { listen } from '../../support/diagnostics.js'
import { eventually } from '../../support/eventually.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command } from '../../support/words.js'

const POLICY = `
authorizationPolicies:
  rules:
    - principals:
        clientIds: ['reader']
      brokerResources:
        - method: Connect
      stateStoreResources:
        - method: Read
          keyType: Pattern
          keys: ['*']
`

describe('events of a client', () => {
  it('trace each request from the call to its response, without its value', async () => {
    const { store } = await openStore({ clock: systemClock })
    const started = listen('tracing:rx-statestore:request:start')
    const ended = listen('tracing:rx-statestore:request:asyncEnd')
    const client = openClient(store.url, { clientId: 'alice' })
    await client.key('a', text).set('secret')
    expect(started).toMatchObject([{ clientId: 'alice', verb: 'SET', key: 'a', outcome: 'pending' }])
    expect(ended).toMatchObject([{ verb: 'SET', url: store.url, outcome: 'succeeded', error: undefined }])
    expect(JSON.stringify([started, ended])).not.toContain('secret')
  })

  it('report a failed request with its error, and a dropped one as cancelled', async () => {
    const { store } = await openStore({ clock: systemClock })
    const failed = listen('tracing:rx-statestore:request:error')
    const ended = listen('tracing:rx-statestore:request:asyncEnd')
    const client = openClient(store.url, { clientId: 'alice' })
    const key = client.key('a', text)
    await key.set('1', { fencingToken: await key.set('0').then(({ version }) => version) })
    await expect(key.set('2')).rejects.toMatchObject({ code: 'fencing-token-required' })
    expect(failed).toMatchObject([{ outcome: 'failed', error: { code: 'fencing-token-required' } }])
    key.set('3').subscribe().unsubscribe()
    expect(ended.at(-1)).toMatchObject({ outcome: 'cancelled' })
  })

  it("have a subscriber's user properties, and pass those of the store to notifications", async () => {
    const { store } = await openStore({ clock: systemClock })
    const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const received = listen('tracing:rx-statestore:server:request:start')
    onTestFinished(
      subscribe('tracing:rx-statestore:request:start', trace => {
        trace.properties['traceparent'] = parent
      }),
    )
    onTestFinished(
      subscribe('tracing:rx-statestore:server:request:start', trace => {
        trace.notificationProperties['traceparent'] = trace.traceparent ?? ''
      }),
    )
    const client = openClient(store.url, { clientId: 'alice' })
    const key = client.key('a', text)
    const watched = listen('rx-statestore:watch')
    key.value$.subscribe()
    await firstValueFrom(key.freshness$.pipe(filter(({ state }) => state === 'live')))
    await key.set('1')
    await eventually(() => watched.some(({ type }) => type === 'notification'))
    expect(received.map(({ verb, traceparent }) => [verb, traceparent])).toContainEqual(['SET', parent])
    expect(watched.find(({ type }) => type === 'notification')).toMatchObject({
      key: 'a',
      userProperties: { traceparent: parent },
    })
  })

  it('never replace the properties of the protocol by those of a subscriber', async () => {
    const { store } = await openStore({ clock: systemClock })
    onTestFinished(
      subscribe('tracing:rx-statestore:request:start', ({ properties }) => {
        properties['__ts'] = 'nonsense'
      }),
    )
    const client = openClient(store.url, { clientId: 'alice' })
    expect(await client.key('a', text).set('1')).toMatchObject({ applied: true })
  })

  it('drop user properties that cannot be sent, and report the first one once', async () => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url, { clientId: 'alice' })
    const reported: string[] = []
    client.errors$.subscribe(({ code, message }) => reported.push(`${code}: ${message}`))
    const faults: unknown[] = []
    store.faults$.subscribe(({ error }) => faults.push(error))
    const invalid = { retry: 5, long: 'x'.repeat(65_536), nul: 'a\0b', 'na\0me': '', lone: '\ud800', none: undefined }
    onTestFinished(
      subscribe('tracing:rx-statestore:request:start', trace => {
        Object.assign(trace.properties, invalid, { traceparent: 'sent', longest: 'x'.repeat(65_535) })
      }),
    )
    onTestFinished(
      subscribe('tracing:rx-statestore:server:request:start', trace => {
        Object.assign(trace.notificationProperties, invalid, { traceparent: trace.traceparent })
      }),
    )
    const watched = listen('rx-statestore:watch')
    const key = client.key('a', text)
    key.value$.subscribe()
    await firstValueFrom(key.freshness$.pipe(filter(({ state }) => state === 'live')))
    for (let i = 0; i < 3; i++) await key.set(String(i))
    await eventually(() => watched.filter(({ type }) => type === 'notification').length === 3)
    expect(watched.find(({ type }) => type === 'notification')).toMatchObject({
      userProperties: { traceparent: 'sent' },
    })
    expect(reported).toEqual([expect.stringMatching(/^argument: The user property "retry" is not sent/)])
    expect(faults).toMatchObject([{ code: 'argument' }])
  })

  it('report connections and the freshness of watches', async () => {
    const { store } = await openStore({ clock: systemClock })
    const connections = listen('rx-statestore:connection')
    const watches = listen('rx-statestore:watch')
    const client = openClient(store.url, { clientId: 'alice' })
    client.key('a', text).value$.subscribe()
    await eventually(() => watches.length === 2)
    store.cut('alice')
    await eventually(() => connections.length === 3 && watches.length >= 5)
    await client.close()
    expect(connections.map(({ type, cause }) => [type, cause?.code])).toEqual([
      ['connected', undefined],
      ['disconnected', 'connection-lost'],
      ['connected', undefined],
      ['closed', undefined],
    ])
    const steps = watches.map(event => (event.type === 'freshness' ? [event.from, event.to] : event.type))
    expect(steps).toEqual([
      [undefined, 'connecting'],
      ['connecting', 'live'],
      ['live', 'stale'],
      ['stale', 'resyncing'],
      ['resyncing', 'live'],
      ['live', undefined],
    ])
  })

  it('report leases that are held and lost', async () => {
    const { store } = await openStore({ clock: systemClock })
    const leases = listen('rx-statestore:lease')
    const client = openClient(store.url, { clientId: 'alice' })
    const subscription = lease(client, 'lock', { duration: 10_000, holder: 'me' }).subscribe()
    await eventually(() => leases.length > 0)
    subscription.unsubscribe()
    expect(leases[0]).toMatchObject({ clientId: 'alice', key: 'lock', status: 'held', holder: 'me' })
  })
})

describe('events of a store', () => {
  it('trace each request from its arrival to its response, with the outcome', async () => {
    const { store } = await openStore({ clock: systemClock })
    const ended = listen('tracing:rx-statestore:server:request:asyncEnd')
    const failed = listen('tracing:rx-statestore:server:request:error')
    const client = await StoreClient.ready(store.url, 'raw')
    await client.request(command('SET a 1'))
    await client.request(command('GET a'), { timestamp: '1:0:x' })
    await client.request(Buffer.from([1, 2]))
    expect(ended.map(({ verb, key, outcome, error }) => [verb, key && displayText(key), outcome, error])).toEqual([
      ['SET', 'a', 'error', 'timestamp-missing'],
      ['GET', 'a', 'absent', undefined],
      [undefined, undefined, 'error', 'syntax-error'],
    ])
    expect(failed).toHaveLength(2)
  })

  it('report each change with its kind and the number of notified clients', async () => {
    const clock = new ManualClock(Date.now())
    const { store } = await openStore({ clock })
    const changes = listen('rx-statestore:server:change')
    const client = openClient(store.url, { clientId: 'alice' })
    const key = client.key('a', text)
    key.value$.subscribe()
    await firstValueFrom(key.freshness$.pipe(filter(({ state }) => state === 'live')))
    await key.set('1')
    await key.set('2')
    await key.delete()
    await client.key('b', text).set('1', { expiresIn: 1_000 })
    clock.advance(2_000)
    await client.key('c', text).get()
    expect(changes.map(({ type, notified }) => [type, notified])).toEqual([
      ['inserted', 1],
      ['modified', 1],
      ['deleted', 1],
      ['inserted', 0],
      ['expired', 0],
    ])
  })

  it('report the entries and flushes of a log on disk', async () => {
    const data = temporaryFolder()
    const log = listen('rx-statestore:log')
    const { store } = await openStore({ data, clock: systemClock })
    const client = openClient(store.url, { clientId: 'alice' })
    await Promise.all(['a', 'b', 'c'].map(async key => client.key(key, text).set('1')))
    const committed = log.flatMap(event => (event.type === 'committed' ? [event.commands] : []))
    expect(committed.reduce((sum, commands) => sum + commands)).toBe(3)
    expect(log.find(({ type }) => type === 'flushed')).toMatchObject({ bytes: expect.any(Number) })
  })

  it('report the connections of clients with the cause of their end', async () => {
    const { store } = await openStore({ clock: systemClock })
    const events = listen('rx-statestore:server:connection')
    await StoreClient.ready(store.url, 'raw')
    await StoreClient.ready(store.url, 'raw')
    const { port, hostname } = new URL(store.url)
    const socket = connectTcp(Number(port), hostname)
    socket.on('connect', () => socket.destroy())
    await eventually(() => events.length === 4)
    const origin = { address: '127.0.0.1', listener: 'mqtt' }
    expect(events).toMatchObject([
      { type: 'opened', clientId: 'raw', ...origin, isSessionPresent: false },
      { type: 'closed', clientId: 'raw', isAdmitted: true, by: 'broker', reasonCode: 0x8e },
      { type: 'opened', clientId: 'raw' },
      { type: 'closed', clientId: '', isAdmitted: false, by: 'network', reasonCode: undefined },
    ])
  })

  it('report a connection that a limit ends, with the name of the limit', async () => {
    const { store } = await openStore({ maxConnections: 1 })
    const events = listen('rx-statestore:server:connection')
    await StoreClient.ready(store.url, 'raw')
    const { port, hostname } = new URL(store.url)
    connectTcp(Number(port), hostname).on('error', () => undefined)
    await eventually(() => events.length === 2)
    expect(events[1]).toMatchObject({ type: 'cut', limit: 'connections', address: '127.0.0.1', listener: 'mqtt' })
  })

  it('report logins and rejections, even without a subscriber of the audit log', async () => {
    const access = listen('rx-statestore:server:access')
    const { store } = await openStore({ policy: POLICY, clock: systemClock })
    const client = openClient(store.url, { clientId: 'reader' })
    await expect(client.key('a', text).set('1')).rejects.toMatchObject({ code: 'not-authorized' })
    expect(access).toMatchObject([
      { event: 'login', outcome: 'accepted', clientId: 'reader' },
      { event: 'refused', action: 'write', target: 'a' },
    ])
  })

  it('report the messages that the broker receives and sends', async () => {
    const { store } = await openStore({ clock: systemClock })
    const messages = listen('rx-statestore:server:publish')
    const client = openClient(store.url, { clientId: 'alice' })
    await client.key('a', text).set('1')
    expect(messages).toMatchObject([
      { direction: 'received', clientId: 'alice', qos: 1 },
      { direction: 'sent', clientId: 'alice', qos: 1 },
    ])
  })
})
