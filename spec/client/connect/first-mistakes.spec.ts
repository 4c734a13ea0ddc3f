import { firstValueFrom, from } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { bytes, connect, json, number, type StateStore, set, systemClock, text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import { connectPubSub } from '../../../src/pubsub/client/index.js'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { serve } from '../../../src/server/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

/** Mistakes of beginners without type checking, and the resulting errors. */
type Mistake = readonly [written: string, run: (store: StateStore) => unknown, words: string | RegExp]

const SYNCHRONOUS_ERRORS: readonly Mistake[] = [
  ["key('')", store => store.key('', text), /at least one/],
  [
    "key('a')",
    // @ts-expect-error missing codec
    store => store.key('a'),
    'Expected a codec for the values: number, text, boolean, bytes, json() or a custom one',
  ],
  [
    "matching(store, 'a*')",
    // @ts-expect-error missing codec
    store => matching(store, 'a*'),
    'Expected a codec for the values: number, text, boolean, bytes, json() or a custom one',
  ],
  [
    "key('a', json)",
    // @ts-expect-error json must be called
    store => store.key('a', json),
    'Expected a codec, got a function: write `json()`',
  ],
  [
    "key('a', 'number')",
    // @ts-expect-error the name of a codec
    store => store.key('a', 'number'),
    'Expected `the codec (as text or json())` to be an object, got `number` (string)',
  ],
  [
    "key('a', {})",
    // @ts-expect-error missing methods of a codec
    store => store.key('a', {}),
    'Expected `the codec (as text or json())` to have a method `encode`',
  ],
  [
    "connect('mqtt://localhost', { clientID: 'a' })",
    // @ts-expect-error clientId is misspelled
    () => connect('mqtt://localhost', { clientID: 'a' }),
    'Unknown option `clientID` of connect: did you mean `clientId`?',
  ],
  [
    "connect({ url: 'mqtt://localhost', keepalive: 5 })",
    // @ts-expect-error keepAlive is misspelled
    () => connect({ url: 'mqtt://localhost', keepalive: 5 }),
    'Unknown option `keepalive` of connect: did you mean `keepAlive`?',
  ],
  [
    "connect('mqtt://localhost', { reconnect: { maximum: 5 } })",
    // @ts-expect-error max is misspelled
    () => connect('mqtt://localhost', { reconnect: { maximum: 5 } }),
    /^Unknown option `maximum` of connect, in `reconnect`/,
  ],
  [
    "connectPubSub('ws://localhost', { keepalive: 5 })",
    // @ts-expect-error keepAlive is misspelled
    () => connectPubSub('ws://localhost', { keepalive: 5 }),
    'Unknown option `keepalive` of connectPubSub: did you mean `keepAlive`?',
  ],
  [
    'set(key, { concurency: 1 })',
    // @ts-expect-error concurrency is misspelled
    store => from([1]).pipe(set(store.key('a', number), { concurency: 1 })),
    'Unknown option `concurency` of the operator set: did you mean `concurrency`?',
  ],
]

const REJECTIONS: readonly Mistake[] = [
  [
    'set(1, { ifabsent: true })',
    // @ts-expect-error ifAbsent is misspelled
    store => store.key('a', number).set(1, { ifabsent: true }),
    'Unknown option `ifabsent` of set: did you mean `ifAbsent`?',
  ],
  [
    'set(1, { ttl: 5 })',
    // @ts-expect-error wrong name of expiresIn
    store => store.key('a', number).set(1, { ttl: 5 }),
    'Unknown option `ttl` of set: did you mean `expiresIn`?',
  ],
  [
    'set(1, 5000)',
    // @ts-expect-error options must be an object
    store => store.key('a', number).set(1, 5000),
    /^Expected `the options of set` to be an object/,
  ],
  [
    "number: set('1')",
    // @ts-expect-error a text
    store => store.key('a', number).set('1'),
    /cannot be encoded: Expected the value to be a finite number, got `1` \(string\)/,
  ],
  ['json: set(new Map())', store => store.key('a', json()).set(new Map()), /JSON has no Map: write it as text/],
  ['json: NaN inside', store => store.key('a', json()).set({ t: [Number.NaN] }), /JSON has no NaN \(at t\[0\]\)/],
  [
    'bytes: set(21)',
    // @ts-expect-error a number
    store => store.key('a', bytes).set(21),
    /cannot be encoded: Expected the value to be a Uint8Array, got `21` \(number\); for other values give the key another codec/,
  ],
  [
    'set(promise)',
    // @ts-expect-error a promise
    store => store.key('a', number).set(Promise.resolve(21)),
    /cannot be encoded: it is a promise: await it before the write; in a stream put `mergeMap\(value => value\)`/,
  ],
  [
    "watchAll(['a'])",
    // @ts-expect-error missing codec
    store => firstValueFrom(store.watchAll(['a'])),
    'Expected a codec for the values: number, text, boolean, bytes, json() or a custom one',
  ],
  ["store.get('', number)", store => store.get('', number), /at least one/],
]

const matchText = (message: string | RegExp): unknown =>
  typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message)

describe('common mistakes', () => {
  it.each(SYNCHRONOUS_ERRORS)('%s throws an argument error', async (_, run, message) => {
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    expect(() => run(client)).toThrow(expect.objectContaining({ code: 'argument', message: matchText(message) }))
  })

  it.each(REJECTIONS)('%s rejects with an argument error', async (_, run, message) => {
    const { store } = await openStore({ clock: systemClock })
    await expect(run(openClient(store.url))).rejects.toMatchObject({
      code: 'argument',
      message: matchText(message),
    })
  })

  it.each([
    ['polcy', 'policy'],
    ['authentification', 'authenticate'],
    ['Data', 'data'],
    ['maxkeys', 'maxKeys'],
  ])('serve rejects the misspelled security option `%s`', async (written, meant) => {
    await expect(serve({ port: 0, wsPort: 0, [written]: 'x' })).rejects.toMatchObject({
      code: 'argument',
      message: expect.stringMatching(`Unknown option \`${written}\` of serve: (did you mean \`${meant}\`|known are)`),
    })
  })

  it('servePubSub rejects misspelled options', async () => {
    const options = { port: 0, authenticate: () => ({}), maxConnection: 5 }
    await expect(servePubSub(options)).rejects.toMatchObject({
      message: 'Unknown option `maxConnection` of servePubSub: did you mean `maxConnections`?',
    })
  })

  it('awaiting a write sends the write', async () => {
    const { store } = await openStore({ clock: systemClock })
    const key = openClient(store.url).key('a', number)
    expect(await key.set(21)).toMatchObject({ applied: true })
    expect(await key.get()).toMatchObject({ value: 21 })
  })

  it('the timeout error of a request names the unreachable broker', async () => {
    const { store } = await openStore({ clock: systemClock })
    await store.close()
    const clock = new ManualClock()
    const client = openClient(store.url, { clock })
    const status = record(client.status$)
    const read = client.key('a', number).get({ timeout: 200 })
    const failed = expect(read).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(/has not connected to mqtt:\/\/127\.0\.0\.1:\d+ yet: check .*ECONNREFUSED 127/),
      cause: { code: 'connection-lost' },
    })
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    clock.advance(200)
    await failed
  })

  it('a broker without a store causes the error no-store', async () => {
    const broker = await scriptedBroker(
      (side: BrokerSide) => side.send(CONNACK),
      (side, packet) => {
        if (packet.cmd !== 'publish') grant(side, packet)
        else side.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 16 })
      },
    )
    const key = openClient(broker.url).key('a', number)
    await expect(key.set(1)).rejects.toMatchObject({
      code: 'no-store',
      message: expect.stringContaining('No state store listens at this broker for key "a"'),
    })
  })

  it('a client closes when another client with its client id connects', async () => {
    const { store } = await openStore({ clock: systemClock })
    const first = openClient(store.url, { clientId: 'panel-7' })
    await first.key('a', number).get()
    const [status, errors] = [record(first.status$), record(first.errors$)]
    first.key('a', number).value$.subscribe({ error: () => undefined })
    await openClient(store.url, { clientId: 'panel-7' }).key('a', number).get()
    await status.until(({ completed }) => completed)
    expect(status.values.at(-1)).toMatchObject({
      state: 'closed',
      cause: { message: expect.stringContaining('another client took over the id "panel-7"') },
    })
    expect(errors.values.map(({ code, message }) => [code, message])).toEqual([
      ['closed', expect.stringContaining('another client took over the id "panel-7"')],
    ])
  })
})
