import { firstValueFrom, filter as only, take, toArray } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect, text } from '../../../src/client/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { firstOf, type ServeOptions } from '../../../src/server/index.js'
import { as, backwards, now, openSecured, turnedAway } from '../../support/secured.js'
import { StoreClient } from '../../support/store-client.js'
import { INVOKE_TOPIC, notificationTopicOf, RESERVED, responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

const [NOT_AUTHORIZED, ADMINISTRATIVE] = [0x87, 0x98]
const REFUSED = '-ERR not authorized\r\n'
const ABSENT = '$-1\r\n'

const rule = (user: string, ...keys: string[]): string => `
- principals: { usernames: [${user}] }
  brokerResources:
  - { method: Connect, clientIds: ["${user}*"] }
  - { method: Publish, topics: ["news/${user}"] }
  - { method: Subscribe, topics: ["news/+"] }
  stateStoreResources: [${keys.join(', ')}]`

const grant = (method: string, ...keys: string[]): string =>
  `{ method: ${method}, keyType: Pattern, keys: ${JSON.stringify(keys)} }`

const POLICY = [
  rule('panel', grant('ReadWrite', 'line-1/*')),
  rule('reader', grant('Read', 'line-1/*')),
  rule('writer', grant('Write', 'line-1/*')),
  rule('nobody'),
].join('\n')

async function open(policy = POLICY, options: ServeOptions = {}) {
  const { store, clock } = await openSecured({ policy, ...options })
  const client = async (user: string): Promise<StoreClient> => StoreClient.ready(store.url, `${user}-1`, as(user))
  const timestamp = now(clock)
  return { store, clock, client, timestamp }
}

describe('with a policy', () => {
  it.each([
    ['panel', ['+OK\r\n', '$1\r\nv\r\n', '+OK\r\n', ':-1\r\n', ':1\r\n']],
    ['reader', [REFUSED, ABSENT, '+OK\r\n', REFUSED, REFUSED]],
    ['writer', ['+OK\r\n', REFUSED, REFUSED, REFUSED, ':1\r\n']],
    ['nobody', [REFUSED, REFUSED, REFUSED, REFUSED, REFUSED]],
  ])('%s has the rights that its rule grants to a key', async (user, answers) => {
    const { client, timestamp } = await open()
    const raw = await client(user)
    const got: string[] = []
    for (const line of ['SET line-1/a v', 'GET line-1/a', 'KEYNOTIFY line-1/a', 'VDEL line-1/a w', 'DEL line-1/a'])
      got.push((await raw.request(command(line), timestamp)).text)
    expect(got).toEqual(answers)
  })

  it.each(['panel', 'reader', 'writer', 'nobody'])('%s has no rights to another key', async user => {
    const { client, timestamp } = await open()
    const raw = await client(user)
    for (const line of ['SET a v', 'GET a', 'KEYNOTIFY a', 'VDEL a v', 'DEL a', 'GET LINE-1/a', 'GET line-1'])
      expect((await raw.request(command(line), timestamp)).text).toBe(REFUSED)
    expect((await raw.request(command('KEYNOTIFY a STOP'))).text).toBe(':0\r\n')
  })

  it('SCAN lists only readable keys for any pattern', async () => {
    const { store, client } = await open()
    await store.load(['a', 'line-1/a', 'line-1/b', 'line-2/a'].map(key => ({ key, value: 'v' })))
    const listed = async (user: string, glob: string) =>
      (await (await client(user)).request(command(`SCAN ${glob}`))).text
    expect(await listed('reader', '*')).toMatch(/line-1\/a.*line-1\/b/s)
    expect(await listed('panel', '*')).not.toMatch(/line-2|\r\na\r\n/)
    for (const user of ['writer', 'nobody']) expect(await listed(user, '*')).not.toMatch(/line|\r\na\r\n/)
  })

  it('clients may publish and subscribe only to topics that a rule grants', async () => {
    const { client } = await open()
    const [panel, reader] = [await client('panel'), await client('reader')]
    expect(await reader.subscribe('news/panel')).toEqual([1])
    for (const filter of ['news/#', '#', '+/panel', 'other', '$SYS/#', '$share/g/other'])
      expect(await reader.subscribe(filter)).toEqual([NOT_AUTHORIZED])
    expect(await reader.subscribe('$share/g/news/+')).toEqual([1])
    expect(await panel.publish('news/panel', 'x')).toBe(0)
    for (const topic of ['news/reader', 'other', 'news'])
      expect(await panel.publishAcknowledged(topic, 'x')).toMatchObject({
        reasonCode: NOT_AUTHORIZED,
        reasonString: expect.stringMatching('rule'),
      })
    await reader.settled()
    expect(new Set(reader.inbox.map(({ topic }) => topic))).toEqual(new Set(['news/panel']))
  })

  it('a client can neither receive nor forge the responses and notifications of other clients', async () => {
    const { client, timestamp } = await open()
    const [panel, reader] = [await client('panel'), await client('reader')]
    for (const filter of [
      responseTopicOf('panel-1'),
      'clients/#',
      'clients/+/services/#',
      notificationTopicOf('panel-1'),
      `${RESERVED}/#`,
      INVOKE_TOPIC,
    ])
      expect(await reader.subscribe(filter)).toEqual([NOT_AUTHORIZED])
    for (const topic of [responseTopicOf('panel-1'), notificationTopicOf('panel-1', 'line-1/a')])
      expect(await reader.publish(topic, 'x')).toBe(NOT_AUTHORIZED)
    // Requesting a response on another client's topic is rejected as well.
    await expect(
      reader.request(command('GET line-1/a'), { responseTopic: responseTopicOf('panel-1') }),
    ).rejects.toThrow()
    await expect(reader.request(command('GET line-1/a'), { responseTopic: 'news/panel' })).rejects.toThrow(/PUBACK 135/)
    await panel.request(command('SET line-1/a v'), timestamp)
    await reader.settled()
    expect(reader.inbox).toEqual([])
  })

  it("a client without a rule, or with a client id other than its rule's, is rejected", async () => {
    const { store } = await open()
    expect(await turnedAway(store.url, 'stranger-1', as('stranger'))).toBe(NOT_AUTHORIZED)
    expect(await turnedAway(store.url, 'reader-1', as('panel'))).toBe(NOT_AUTHORIZED)
    expect(await turnedAway(store.url, '', as('panel'))).toBe(NOT_AUTHORIZED)
  })

  it('a last will is accepted at CONNECT only with the right to publish it', async () => {
    const { store } = await open()
    const will = (topic: string) => ({ ...as('panel'), will: { topic, payload: Buffer.from('gone'), qos: 1 as const } })
    expect(await turnedAway(store.url, 'panel-2', will('news/reader'))).toBe(NOT_AUTHORIZED)
    await StoreClient.connect(store.url, 'panel-2', will('news/panel'))
  })

  it('a client id that consists of wildcards grants no additional rights', async () => {
    const { store } = await openSecured({
      policy: `[{principals: {usernames: [mallory]}, brokerResources: [{method: Connect}, {method: Subscribe, topics: ['clients/{principal.clientId}/#']}], stateStoreResources: [{method: Read, keyType: Pattern, keys: ['{principal.clientId}*']}]}]`,
    })
    await store.load([{ key: 'secret', value: 'v' }])
    for (const id of ['#', '+']) {
      const mallory = await StoreClient.connect(store.url, id, as('mallory'))
      for (const filter of ['#', 'clients/#', 'clients/+/services/statestore/#', `${RESERVED}/+/command/notify/+`])
        expect(await mallory.subscribe(filter)).toEqual([NOT_AUTHORIZED])
    }
    for (const id of ['*', '?ecret', '[s]ecret']) {
      const mallory = await StoreClient.ready(store.url, id, as('mallory'))
      expect((await mallory.request(command('GET secret'))).text).toBe(REFUSED)
    }
  })

  it('rejections are written to the audit log', async () => {
    const { store, client, timestamp } = await open()
    const events = firstValueFrom(
      store.audit$.pipe(
        only(({ event }) => event === 'refused'),
        take(4),
        toArray(),
      ),
    )
    const reader = await client('reader')
    await reader.request(command('SET line-1/a secret'), timestamp)
    await reader.request(command('GET other'))
    await reader.publish('other', 'secret')
    await reader.subscribe('#')
    const who = { time: expect.any(String), event: 'refused', clientId: 'reader-1', username: 'reader' }
    expect(await events).toEqual([
      { ...who, action: 'write', target: 'line-1/a' },
      { ...who, action: 'read', target: 'other' },
      { ...who, action: 'publish', target: 'other' },
      { ...who, action: 'subscribe', target: '#' },
    ])
  })

  it('rejected uses of topics that are reserved for their owner are written to the audit log', async () => {
    const { store, client } = await open()
    const reader = await client('reader')
    const topics = [responseTopicOf('panel-1'), notificationTopicOf('panel-1', 'k')]
    const record: unknown[] = []
    store.audit$.subscribe(({ event, action, username, target }) => record.push([event, action, username, target]))
    for (const topic of topics) expect(await reader.publish(topic, 'x')).toBe(NOT_AUTHORIZED)
    expect(await reader.subscribe(`${RESERVED}/70616E656C2D31/#`)).toEqual([NOT_AUTHORIZED])
    await reader.request(command('GET a'), { responseTopic: topics[0] ?? '' }).catch(() => undefined)
    expect(record).toEqual([
      ...topics.map(topic => ['refused', 'publish', 'reader', topic]),
      ['refused', 'subscribe', 'reader', `${RESERVED}/70616E656C2D31/#`],
      ['refused', 'publish', 'reader', topics[0]],
    ])
  })

  it('topics of the store are compared case-sensitively', async () => {
    const { client } = await open(rule('j'))
    const raw = await client('j')
    const hex = Buffer.from('j-1').toString('hex')
    expect(await raw.subscribe(`clients/${hex}/services/statestore/#`)).toEqual([1])
    for (const filter of [`clients/${hex}/SERVICES/STATESTORE/#`, `clients/${hex}/ſervices/ſtateſtore/#`])
      expect(await raw.subscribe(filter)).toEqual([NOT_AUTHORIZED])
  })
})

describe('a replaced policy', () => {
  it('ends watches and subscriptions that the new policy denies, and no others', async () => {
    const { store, client, timestamp } = await open()
    const [panel, reader] = [await client('panel'), await client('reader')]
    await reader.request(command('KEYNOTIFY line-1/a'))
    await panel.request(command('KEYNOTIFY line-1/a'))
    store.reload({ policy: POLICY.replace(grant('Read', 'line-1/*'), grant('Read', 'line-2/*')) })
    expect(await reader.dismissed()).toBe(ADMINISTRATIVE)
    expect((await panel.request(command('SET line-1/a v'), timestamp)).text).toBe('+OK\r\n')
    await panel.arrived(1)
    const again = await client('reader')
    expect((await again.request(command('KEYNOTIFY line-1/a'))).text).toBe(REFUSED)
    expect(again.inbox).toEqual([])
  })

  it('ends subscriptions of offline clients, for which later messages are not queued', async () => {
    const { store, client } = await open()
    const kept = { ...as('reader'), clean: false, properties: { sessionExpiryInterval: 60 } }
    const reader = await StoreClient.connect(store.url, 'reader-9', kept)
    await reader.subscribe('news/panel')
    await reader.disconnect()
    store.reload({ policy: POLICY.replaceAll('"news/+"', '"other"') })
    await (await client('panel')).publish('news/panel', 'secret')
    const again = await StoreClient.connect(store.url, 'reader-9', kept)
    await again.subscribe(responseTopicOf('reader-9'))
    await again.settled()
    expect(again.inbox).toEqual([])
  })

  it('after a policy change, queued messages that a client may no longer receive are withheld', async () => {
    const { store, client, timestamp } = await open()
    const kept = { ...as('reader'), clean: false, properties: { sessionExpiryInterval: 60, receiveMaximum: 1 } }
    const reader = await StoreClient.connect(store.url, 'reader-9', kept)
    const panel = await client('panel')
    await reader.subscribe('news/panel')
    await reader.subscribe(responseTopicOf('reader-9'))
    await reader.request(command('KEYNOTIFY line-1/a'))
    // Without acknowledgements, only the first message is sent.
    reader.isAcknowledging = false
    for (const value of ['one', 'two', 'three']) await panel.request(command(`SET line-1/a ${value}`), timestamp)
    await reader.cut()
    await panel.publish('news/panel', 'secret')
    store.reload({ policy: POLICY.replaceAll('"news/+"', '"other"').replace(grant('Read', 'line-1/*'), '') })
    const again = await StoreClient.connect(store.url, 'reader-9', kept)
    await again.settled()
    expect(again.inbox).toEqual([])
  })

  it('messages of a shared group go to another member when their receiver loses the subscription', async () => {
    const { store, client } = await open()
    const reader = await StoreClient.connect(store.url, 'reader-1', {
      ...as('reader'),
      properties: { receiveMaximum: 1 },
    })
    const panel = await client('panel')
    reader.isAcknowledging = false
    await reader.subscribe('$share/group/news/panel')
    // The first message is sent, and the others are queued.
    for (const text of ['one', 'two', 'three']) await panel.publishAcknowledged('news/panel', text)
    await panel.subscribe('$share/group/news/panel')
    store.reload({ policy: rule('panel') + rule('reader').replace('news/+', 'other') })
    await panel.arrived(3)
    expect(panel.inbox.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
  })

  it('a client whose subscription ends receives no message that the same policy change releases', async () => {
    const { store, client } = await open()
    const writer = await client('writer')
    const will = { topic: 'news/panel', payload: Buffer.from('will'), qos: 1, retain: false } as const
    const panel = await StoreClient.connect(store.url, 'panel-1', { ...as('panel'), will })
    const reader = await client('reader')
    panel.isAcknowledging = false
    await panel.subscribe('$share/group/news/writer')
    await writer.publishAcknowledged('news/writer', 'shared')
    await reader.subscribe('$share/group/news/writer')
    await reader.subscribe('news/panel')
    const panelMayPublish = rule('panel').replace(/.*method: Connect.*\n/, '')
    store.reload({ policy: panelMayPublish + rule('reader').replace('news/+', 'other') })
    expect(await reader.dismissed()).toBe(ADMINISTRATIVE)
    expect(reader.inbox).toEqual([])
  })

  it('ends sessions of clients that may no longer connect', async () => {
    const { store, client } = await open()
    const reader = await client('reader')
    store.reload({ policy: rule('panel') })
    expect(await reader.dismissed()).toBe(NOT_AUTHORIZED)
    expect(store.stats.sessions).toBe(0)
    expect(await turnedAway(store.url, 'reader-1', as('reader'))).toBe(NOT_AUTHORIZED)
  })

  it('an invalid replacement policy is ignored', async () => {
    const { store, client } = await open()
    const reader = await client('reader')
    expect(() => store.reload({ policy: '- principals: {}\n  broker: []' })).toThrow(/^The policy: line 1, \[0\]/)
    expect((await reader.request(command('GET line-1/a'))).text).toBe(ABSENT)
  })

  it('a client of the library reports why the store refuses it', async () => {
    const { store } = await open()
    const reader = connect(store.url, { ...as('reader'), clientId: 'panel-9' })
    onTestFinished(async () => reader.close())
    await expect(reader.get('line-1/a', text)).rejects.toThrow(
      'Not authorized (no policy rule lets reader connect with this client id)',
    )
  })

  it('still applies after a restart', async () => {
    const { store, client } = await open()
    store.reload({ policy: rule('panel') })
    await store.restart({ keys: 'lost' })
    expect(await turnedAway(store.url, 'reader-1', as('reader'))).toBe(NOT_AUTHORIZED)
    expect((await (await client('panel')).request(command('GET line-1/a'))).text).toBe(REFUSED)
  })

  it("ends the library's watch with `not-authorized`, and no other watch", async () => {
    const { store } = await open(rule('panel', grant('ReadWrite', 'a', 'b')), { clock: systemClock })
    await using client = connect(store.url, { clientId: 'panel-7', ...as('panel') })
    const ended = new Promise(resolve => client.key('a', text).value$.subscribe({ error: resolve }))
    const values = firstValueFrom(client.key('b', text).value$.pipe(only(value => value === 'new')))
    await firstValueFrom(client.key('a', text).set('x'))
    store.reload({ policy: rule('panel', grant('ReadWrite', 'b')) })
    expect(await ended).toMatchObject({ code: 'not-authorized' })
    await firstValueFrom(client.key('b', text).set('new'))
    expect(await values).toBe('new')
  })
})

it('attributes of a principal grant the rights of matching rules', async () => {
  const { store } = await openSecured({
    authenticate: firstOf([backwards({ sensor: { building: '17' }, spy: { building: '*' } })]),
    policy: `[{principals: {attributes: [{building: '17'}, {building: '*'}]}, brokerResources: [{method: Connect}],
      stateStoreResources: [{method: Read, keyType: Pattern, keys: ['{principal.attributes.building}/*']}]}]`,
  })
  await store.load([{ key: '17/a', value: 'v' }])
  const sensor = await StoreClient.ready(store.url, 'sensor', as('sensor'))
  const spy = await StoreClient.ready(store.url, 'spy', as('spy'))
  expect((await sensor.request(command('GET 17/a'))).text).toBe('$1\r\nv\r\n')
  expect((await spy.request(command('GET 17/a'))).text).toBe(REFUSED)
  expect((await spy.request(command('SCAN *'))).text).not.toContain('17/a')
})
