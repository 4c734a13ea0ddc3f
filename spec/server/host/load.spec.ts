import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { bytes as asIs, text } from '../../../src/client/index.js'
import type { DumpLine } from '../../../src/server/index.js'
import { ManualClock, START } from '../../support/manual-clock.js'
import { openClient, record, words } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { command, textOf } from '../../support/words.js'

const NOW = `${START}:0:client`

async function* soon(...lines: readonly (DumpLine | string)[]): AsyncGenerator<DumpLine | string> {
  yield* lines
}

describe('a dump', () => {
  it('makes a new store equal to the dumped store: values, versions, expiry and fencing tokens', async () => {
    const { store } = await openStore()
    const alice = await StoreClient.ready(store.url, 'alice')
    await alice.request(command('SET k v'), { timestamp: NOW })
    await alice.request(command('SET \xff\x00 \xfe PX 1000'), { timestamp: NOW, fencingToken: NOW })
    const lines = [...store.dump()]
    const [version, other] = [store.peek('k')?.version, store.peek(Uint8Array.of(0xff, 0))?.version]
    expect(lines).toEqual([
      { key: 'k', value: 'v', version },
      { keyBytes: '/wA=', bytes: '/g==', version: other, expiresAt: START + 1_000, fencingToken: NOW },
    ])
    const { store: copy, clock } = await openStore()
    const loaded = await copy.load(lines.map(line => JSON.stringify(line)))
    expect(loaded).toEqual({ loaded: 2, versionsKept: 2, expired: 0, deleted: 0 })
    expect([...copy.dump()]).toEqual(lines)
    clock.advance(1_000)
    expect([...copy.dump()]).toEqual(lines.slice(0, 1))
  })

  it('is a snapshot even if keys are written while it is read', async () => {
    const { store } = await openStore()
    const keys = Array.from({ length: 100 }, (_, at) => ({ key: `k${at}`, value: 'before' }))
    await store.load(keys)
    const seen: string[] = []
    for (const { value = '' } of store.dump()) {
      seen.push(value)
      if (seen.length === 1)
        await store.load(
          [
            { key: 'k50', value: 'after' },
            { key: 'new', value: 'after' },
          ],
          { replace: true },
        )
    }
    expect(seen).toEqual(keys.map(() => 'before'))
    expect([...store.dump()].map(({ value }) => value)).toEqual(['after', 'after'])
  })

  it('can still be read after the store has closed', async () => {
    const { store } = await openStore()
    await store.load([{ key: 'k', value: 'v' }])
    await store.close()
    expect([...store.dump()]).toMatchObject([{ key: 'k', value: 'v' }])
  })
})

describe('loading', () => {
  it.each(['url', 'wsUrl'] as const)('a dump notifies watchers (%s)', async transport => {
    const { store } = await openStore({ clock: new ManualClock(Date.now()) })
    const client = openClient(store[transport])
    const [a, b] = ['a', 'b'].map(name => record(client.key(name, text).entries$))
    await Promise.all([a, b].map(async seen => seen?.until(({ values }) => values.length === 1)))
    await store.load([
      { key: 'a', value: '1' },
      { key: 'b', value: '1' },
    ])
    expect(await store.load([{ key: 'a', value: '2' }], { replace: true })).toMatchObject({ deleted: 1 })
    await a?.until(({ values }) => values.length === 3)
    await b?.until(({ values }) => values.length === 3)
    expect(a && words(a)).toEqual(['absent (snapshot)', 'set 1 (notification)', 'set 2 (notification)'])
    expect(b && words(b)).toEqual(['absent (snapshot)', 'set 1 (notification)', 'delete (notification)'])
    expect(store.stats).toMatchObject({ notifications: 4, keys: 1 })
  })

  it('a dump gives an older entry a new version, so that watches accept it as a change', async () => {
    const { store } = await openStore({ clock: new ManualClock(Date.now()) })
    const key = openClient(store.url).key('k', text)
    const seen = record(key.entries$)
    await firstValueFrom(key.set('1'))
    const old = [...store.dump()]
    await firstValueFrom(key.set('2'))
    expect(await store.load(old)).toEqual({ loaded: 1, versionsKept: 0, expired: 0, deleted: 0 })
    await seen.until(({ values }) => values.at(-1)?.value === '1' && values.some(({ value }) => value === '2'))
    const versions = seen.values.flatMap(({ version }) => version ?? [])
    expect(versions.every((version, at) => at === 0 || version.compareTo(versions[at - 1] ?? version) > 0)).toBe(true)
  })

  it('a dump accepts lines that arrive later, and blank lines', async () => {
    const { store } = await openStore()
    const lines = soon(
      '{"key":"a","value":"1"}',
      '',
      '  ',
      { keyBytes: 'Yg==', bytes: 'Mg==' },
      '{"key":"c","value":"3"}\r',
    )
    expect(await store.load(lines)).toMatchObject({ loaded: 3 })
    expect([...store.dump()].map(({ key, value }) => `${key} ${value}`)).toEqual(['a 1', 'b 2', 'c 3'])
  })

  it('a dump restores expiry, and skips expired keys', async () => {
    const { store, clock } = await openStore()
    const lines = [
      { key: 'a', value: '', expiresAt: START },
      { key: 'b', value: '', expiresAt: START + 10 },
    ]
    expect(await store.load(lines)).toEqual({ loaded: 1, versionsKept: 0, expired: 1, deleted: 0 })
    expect([store.stats.keys, clock.pending]).toEqual([1, 1])
    clock.advance(10)
    expect([store.stats.keys, clock.pending]).toEqual([0, 0])
  })

  it('a load is atomic: an invalid line prevents it, and the error has the line number', async () => {
    const { store } = await openStore()
    await store.load([{ key: 'k', value: 'before' }])
    const message = 'line 4: it is not valid JSON; nothing was loaded'
    const lines = ['{"key":"k","value":"after"}', '', '{"key":"l","value":"1"}', '{"key":']
    await expect(store.load(lines, { replace: true })).rejects.toMatchObject({ code: 'argument', message })
    await expect(store.load(soon(...lines))).rejects.toMatchObject({ code: 'argument', message })
    expect([...store.dump()]).toMatchObject([{ key: 'k', value: 'before' }])
  })

  it('a dump changes nothing if there are too many keys or the lines end early', async () => {
    const { store } = await openStore({ maxKeys: 1, maxBytes: 1_000_000 })
    const two = [
      { key: 'a', value: '' },
      { key: 'b', value: '' },
    ]
    const message = 'Nothing was loaded: the store would exceed its quota of 1 keys or 1000000 bytes'
    await expect(store.load(two)).rejects.toMatchObject({ code: 'quota-exceeded', message })
    async function* broken(): AsyncGenerator<DumpLine> {
      yield { key: 'a', value: '' }
      throw new Error('gone')
    }
    await expect(store.load(broken())).rejects.toThrow('gone')
    expect(store.stats.keys).toBe(0)
  })

  it('a dump rejects a fencing token from the future', async () => {
    const { store } = await openStore()
    const [near, far] = [`${START + 60_000}:0:lock`, `${START + 60_001}:0:lock`]
    const message = "line 1: its `fencingToken` is ahead of this machine's clock; nothing was loaded"
    await expect(store.load([{ key: 'k', value: '', fencingToken: far }])).rejects.toMatchObject({
      code: 'argument',
      message,
    })
    expect(await store.load([{ key: 'k', value: '', fencingToken: near }])).toMatchObject({ loaded: 1 })
  })

  it('a dump waits for a restart, and the dump is complete afterwards', async () => {
    const { store } = await openStore()
    const restarted = store.restart({ keys: 'lost' })
    await store.load([{ key: 'k', value: 'v' }])
    await restarted
    const alice = await StoreClient.ready(store.url, 'alice')
    expect((await alice.request(command('GET k'))).text).toBe('$1\r\nv\r\n')
  })

  it.each([null, 'replace', { replace: 1 }])('a dump with the options %j is rejected', async options => {
    const { store } = await openStore()
    await expect(Reflect.apply(store.load, store, [[], options])).rejects.toMatchObject({ code: 'argument' })
  })

  it('a dump into a closed store is rejected', async () => {
    const { store } = await openStore()
    await store.close()
    await expect(store.load([])).rejects.toMatchObject({ code: 'closed' })
  })

  it('a dump preserves values byte by byte', async () => {
    const { store } = await openStore({ clock: new ManualClock(Date.now()) })
    const value = Uint8Array.from({ length: 70_000 }, (_, at) => at % 256)
    await store.load([{ key: 'k', bytes: Buffer.from(value).toString('base64') }])
    const entry = await firstValueFrom(openClient(store.url).key('k', asIs).get())
    expect(textOf(entry.value ?? new Uint8Array(0))).toBe(textOf(value))
  })
})
