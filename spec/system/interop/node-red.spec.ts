import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { exampleFlow, NodeRed } from '../../../scripts/node-red.js'
import { Hlc, json, number, systemClock } from '../../../src/client/index.js'
import { WATCHES_PER_GLOB } from '../../../src/server/engine/watchers.js'
import { type ServeOptions, type StoreServer, serve } from '../../../src/server/index.js'
import { openClient, type Recording, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

const REFUSED = { refused: 'credentials', reason: 'wrong password' } as const

/** The time in ms that Node-RED may take to start. It usually takes two seconds, and ten on the first start. */
const START = 60_000

interface Display {
  readonly celsius?: number
  readonly version?: string
  readonly freshness: string
}

interface Run {
  readonly by: string
  readonly token: string
}

describe('the Node-RED nodes', () => {
  let red: NodeRed
  beforeAll(async () => {
    red = await NodeRed.start(await freePort())
  }, START)
  afterAll(async () => red?.stop())

  /** Opens a store on the system clock, as Node-RED runs on it. */
  const open = async (options: ServeOptions = {}): Promise<StoreServer> =>
    (await openStore({ clock: systemClock, ...options })).store

  async function openWith(name: 'thermostat' | 'lock'): Promise<StoreServer> {
    const store = await open()
    await red.deploy(await exampleFlow(name, store.url))
    // The flows of a finished test must not report the store as missing.
    onTestFinished(async () => red.deploy([]))
    return store
  }

  async function ask(method: string, path: string, body?: object): Promise<{ status: number; said: string }> {
    const headers = { 'content-type': 'application/json' }
    const request = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) }
    const response = await fetch(red.url + path, request)
    return { status: response.status, said: await response.text() }
  }

  const tell = async (pump: 'a' | 'b', action: string): Promise<void> => {
    expect(await ask('POST', `/pump/${pump}`, { action })).toMatchObject({ status: 202 })
  }

  const displayOf = (url: string): Recording<Display | undefined> =>
    record(openClient(url).key('thermostat/display', json<Display>()).value$)

  it('write and read a key', async () => {
    const store = await openWith('thermostat')
    const written = await ask('POST', '/set-point', { celsius: 21.5 })
    const { value, version } = await openClient(store.url).key('thermostat/setPoint', number).get()
    expect(value).toBe(21.5)
    expect(written.status).toBe(200)
    expect(JSON.parse(written.said)).toEqual({ applied: true, version: String(version) })
    expect(JSON.parse((await ask('GET', '/set-point')).said)).toEqual({ celsius: 21.5, version: String(version) })
  })

  it('write only over the version that was read', async () => {
    await openWith('thermostat')
    const { version } = JSON.parse((await ask('POST', '/set-point', { celsius: 20 })).said)
    const second = await ask('PUT', '/set-point', { celsius: 21, version })
    expect(second.status).toBe(200)
    const late = await ask('PUT', '/set-point', { celsius: 22, version })
    expect(late.status).toBe(409)
    expect(JSON.parse(late.said)).toEqual({ applied: false, version: JSON.parse(second.said).version })
    const blind = await ask('PUT', '/set-point', { celsius: 23 })
    expect(blind).toMatchObject({ status: 400, said: expect.stringContaining('no version to compare with') })
    expect(JSON.parse((await ask('GET', '/set-point')).said)).toMatchObject({ celsius: 21 })
  })

  it('report failures to a catch node', async () => {
    await openWith('thermostat')
    const refused = await ask('POST', '/set-point', { celsius: 'warm' })
    expect(refused).toMatchObject({ status: 400, said: expect.stringContaining('thermostat/setPoint') })
  })

  it('emit every change, and the current value after a restart of the store', async () => {
    const port = await freePort()
    const before = await serve({ port, wsPort: 0 })
    await red.deploy(await exampleFlow('thermostat', before.url))
    onTestFinished(async () => red.deploy([]))
    const first = displayOf(before.url)
    await first.until(({ values }) => values.at(-1)?.freshness === 'live')
    const { version } = await openClient(before.url).key('thermostat/setPoint', number).set(21)
    await first.until(({ values }) => values.at(-1)?.celsius === 21)
    expect(first.values.at(-1)).toEqual({ celsius: 21, version: String(version), freshness: 'live' })
    await before.close()

    const after = await open({ port })
    const second = displayOf(after.url)
    const again = await openClient(after.url).key('thermostat/setPoint', number).set(25)
    await second.until(({ values }) => values.at(-1)?.celsius === 25)
    expect(second.values.at(-1)).toEqual({ celsius: 25, version: String(again.version), freshness: 'live' })
  })

  it('emit the keys of a glob, including new keys', async () => {
    const store = await openWith('thermostat')
    const client = openClient(store.url)
    const seen = record(client.watchAll(['seen/1', 'seen/2'], number))
    const until = (key: string, value: number): Promise<void> =>
      seen.until(({ values }) => values.some(entry => entry.key === key && entry.value === value))
    await client.key('sensor/1', number).set(17)
    await until('seen/1', 17)
    await client.key('sensor/2', number).set(18)
    await until('seen/2', 18)
  })

  it('hand a lock from one flow to the other, with a newer fencing token', async () => {
    const store = await openWith('lock')
    const key = openClient(store.url).key('pump/run', json<Run>())
    const runs = record(key.value$)
    const untilRunBy = async (by: string): Promise<string> => {
      await runs.until(({ values }) => values.at(-1)?.by === by)
      return runs.values.at(-1)?.token ?? ''
    }
    await tell('a', 'acquire')
    const first = await untilRunBy('Pump A')
    await tell('b', 'acquire')
    await tell('a', 'release')
    const second = await untilRunBy('Pump B')
    expect(Hlc.parse(second).compareTo(Hlc.parse(first))).toBeGreaterThan(0)
    await expect(key.set({ by: 'late', token: first }, { fencingToken: first })).rejects.toMatchObject({
      code: 'fencing-token-stale',
    })

    // The lease of half a minute would outlast this test.
    const others = (await exampleFlow('lock', store.url)).filter(({ id, z }) => ![id, z].includes('pump-b'))
    await red.deploy(others, 'nodes')
    await tell('a', 'acquire')
    await untilRunBy('Pump A')
  })

  it('report that a lock is lost', async () => {
    const store = await openWith('lock')
    const client = openClient(store.url)
    const stops = record(client.key('pump/stopped', json<{ by: string; why: string; reason?: string }>()).value$)
    const runs = record(client.key('pump/run', json<Run>()).value$)
    await tell('a', 'acquire')
    await runs.until(({ values }) => values.at(-1)?.by === 'Pump A')
    await client.delete('pump/lock')
    await stops.until(({ values }) => values.at(-1)?.why === 'lost')
    expect(stops.values.at(-1)).toEqual({ by: 'Pump A', why: 'lost', reason: 'revoked' })
    // The lock is requested again.
    await runs.until(({ values }) => new Set(values.flatMap(run => run?.token ?? [])).size === 2)
  })

  it('leave neither registrations nor connections behind', async () => {
    const store = await openWith('thermostat')
    const flow = await exampleFlow('thermostat', store.url)
    const display = displayOf(store.url)
    await display.until(({ values }) => values.at(-1)?.freshness === 'live')
    const counts = () => {
      const { connections, sessions, subscriptions, watches } = store.stats
      return { connections, sessions, subscriptions, watches }
    }
    // The display, the set point, and the sensors with a glob are watched.
    await expect.poll(counts).toMatchObject({ connections: 2, watches: 2 + WATCHES_PER_GLOB })
    const once = counts()
    for (let i = 0; i < 3; i++) {
      await red.deploy(flow)
      // A client that is replaced while it connects leaves its session until the session expires.
      await expect.poll(counts).toEqual(once)
    }
    // The connection stays open, so that everything a node leaves behind remains visible.
    for (const name of ['one', 'two', 'three'])
      await red.deploy(
        flow.map(node => (node.type === 'state watch' ? { ...node, name } : node)),
        'nodes',
      )
    await expect.poll(counts).toEqual(once)
    const others = flow.filter(({ type }) => type !== 'state watch')
    await red.deploy(others, 'nodes')
    await expect.poll(counts).toMatchObject({ connections: 2, watches: 1 })
    await red.deploy([])
    await expect.poll(counts).toMatchObject({ connections: 1, sessions: 1, watches: 1 })
  })

  it('write with conditions and an expiry, and delete', async () => {
    const store = await open()
    const client = openClient(store.url)
    const setter = { type: 'state set', z: 'tab', store: 'store', codec: 'json', condition: 'always', expiresIn: '' }
    const told = { ...setter, action: 'set', key: '', wires: [[], []] }
    const asked = { type: 'state watch', z: 'tab', store: 'store', kind: 'key', codec: 'json' }
    const answer = {
      type: 'change',
      z: 'tab',
      rules: [{ t: 'set', p: 'payload', pt: 'msg', to: 'applied', tot: 'msg' }],
    }
    const flow = [
      { id: 'tab', type: 'tab', label: 'writes' },
      { id: 'store', type: 'state store', url: store.url, clientId: 'writer', credentials: {} },
      { ...asked, id: 'first', key: 'ask/first', wires: [['present'], []] },
      {
        id: 'present',
        type: 'switch',
        z: 'tab',
        property: 'op',
        rules: [{ t: 'eq', v: 'set', vt: 'str' }],
        wires: [['nx']],
      },
      {
        ...setter,
        id: 'nx',
        action: 'set',
        key: 'a',
        condition: 'ifAbsent',
        expiresIn: '60000',
        wires: [['ok'], ['no']],
      },
      { ...asked, id: 'gone', key: 'ask/gone', wires: [['there'], []] },
      {
        id: 'there',
        type: 'switch',
        z: 'tab',
        property: 'op',
        rules: [{ t: 'eq', v: 'set', vt: 'str' }],
        wires: [['del']],
      },
      { ...setter, id: 'del', action: 'delete', key: 'a', wires: [['ok'], ['no']] },
      { ...answer, id: 'ok', wires: [['told-ok']] },
      { ...answer, id: 'no', wires: [['told-no']] },
      { ...told, id: 'told-ok', key: 'told/ok' },
      { ...told, id: 'told-no', key: 'told/no' },
    ]
    onTestFinished(async () => red.deploy([]))
    await red.deploy(flow)
    const seen = record(client.watchAll(['told/ok', 'told/no'], json<boolean>()))
    const answers = (count: number): Promise<void> =>
      seen.until(({ values }) => values.filter(({ op }) => op === 'set').length === count)
    await client.key('ask/first', json()).set(1)
    await answers(1)
    const { expiresAt } = store.peek('a') ?? {}
    expect(expiresAt).toBeGreaterThan(Date.now())
    await client.key('ask/first', json()).set(2)
    await answers(2)
    expect((await client.key('a', json()).get()).value).toBe(1)
    await client.key('ask/gone', json()).set(1)
    await answers(3)
    await client.key('ask/gone', json()).set(2)
    await answers(4)
    expect(seen.values.filter(({ op }) => op === 'set').map(({ key, value }) => [key, value])).toEqual([
      ['told/ok', true],
      ['told/no', false],
      ['told/ok', true],
      ['told/no', false],
    ])
    expect(store.clients.map(({ clientId }) => clientId)).toContain('writer')
  })

  it('log in, and report a rejected login', async () => {
    const passwords: string[] = []
    const store = await open({
      authenticate: ({ username, password }) => {
        passwords.push(`${username} ${new TextDecoder().decode(password)}`)
        return passwords.at(-1) === 'anna secret' ? { principal: { username: 'anna' } } : REFUSED
      },
    })
    const flow = await exampleFlow('thermostat', store.url)
    const withPassword = (password: string): object[] =>
      flow.map(node => (node.id === 'store' ? { ...node, credentials: { username: 'anna', password } } : node))
    onTestFinished(async () => red.deploy([]))
    await red.deploy(withPassword('guess'))
    await red.says(/\[error\] \[state watch:.*refuse/i)
    await red.deploy(withPassword('secret'))
    await expect.poll(() => store.stats.connections).toBe(1)
    expect(passwords).toEqual(['anna guess', 'anna secret'])
  })

  it.each([
    ['address', { url: 'nonsense' }, /Expected a broker URL/],
    ['key', { key: '' }, /No key is given/],
    ['store', { store: 'gone' }, /No state store is chosen/],
    ['type of values', { codec: 'xml' }, /Expected values to be json, text/],
  ])('report a missing or invalid %s', async (_, wrong, complaint) => {
    const store = { id: 'store', type: 'state store', url: 'mqtt://127.0.0.1:1', clientId: '' }
    const watch = { id: 'watch', type: 'state watch', z: 'tab', store: 'store', kind: 'key', key: 'a', codec: 'json' }
    const flow = [{ id: 'tab', type: 'tab', label: 'wrong' }, 'url' in wrong ? { ...store, ...wrong } : store]
    onTestFinished(async () => red.deploy([]))
    await red.deploy([...flow, { ...watch, ...wrong, wires: [[], []] }])
    await red.says(complaint)
  })
})
