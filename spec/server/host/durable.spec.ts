import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type RecoveryProgress, serve } from '../../../src/server/index.js'
import { checkDirectory, readDirectory } from '../../../src/server/storage/directory.js'
import { claimedPorts } from '../../support/claimed-ports.js'
import { ManualClock, START } from '../../support/manual-clock.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command } from '../../support/words.js'

const NOW = `${START}:0:client`

const directory = (): string => join(temporaryFolder(), 'state')

async function start(data: string, options: Parameters<typeof serve>[0] = {}) {
  const clock = new ManualClock()
  const store = await serve({ ...(await claimedPorts()), clock, data, ...options })
  onTestFinished(async () => store.close())
  const client = await StoreClient.ready(store.url, 'alice')
  return { store, clock, client }
}

describe('a store with a directory', () => {
  it('recovers values, versions, expiry, tokens and the version clock on the next start', async () => {
    const data = directory()
    const one = await start(data)
    const { version } = await one.client.request(command('SET k v PX 5000'), { timestamp: NOW, fencingToken: NOW })
    const ahead = await one.client.request(command('SET l w'), { timestamp: `${START + 59_000}:7:client` })
    const before = [...one.store.dump()]
    await one.store.close()
    const two = await start(data)
    expect([...two.store.dump()]).toEqual(before)
    expect(await two.client.request(command('GET k'))).toMatchObject({ text: '$1\r\nv\r\n', version })
    const next = await two.client.request(command('SET m x'), { timestamp: NOW })
    expect(Number(next.version?.split(':')[0])).toBe(START + 59_000)
    expect(Number(next.version?.split(':')[1])).toBeGreaterThan(Number(ahead.version?.split(':')[1]))
    two.clock.advance(5_000)
    expect((await two.client.request(command('GET k'))).text).toBe('$-1\r\n')
  })

  it('deletes keys that expired before the start', async () => {
    const data = directory()
    const one = await start(data)
    await one.client.request(command('SET k v PX 5000'), { timestamp: NOW })
    await one.store.close()
    const { store } = await start(data, { clock: new ManualClock(START + 5_000) })
    expect(store.stats.keys).toBe(0)
  })

  it('restarts with or without its keys', async () => {
    const data = directory()
    const one = await start(data)
    await one.client.request(command('SET k v'), { timestamp: NOW })
    await one.store.restart({ keys: 'kept' })
    expect([...one.store.dump()]).toMatchObject([{ key: 'k', value: 'v' }])
    await one.store.restart({ keys: 'lost' })
    expect([...one.store.dump()]).toEqual([])
    await one.store.close()
    expect(await checkDirectory(data)).toMatchObject({ keys: 0, torn: 0 })
  })

  it('ends a load that coincides with a restart, and accepts the next load', async () => {
    const { store } = await start(directory())
    const loading = store.load([{ key: 'a', value: '1' }])
    // It depends on the event loop whether the load was appended before the restart.
    const outcome = expect(loading).rejects.toMatchObject({
      code: expect.stringMatching(/^(closed|outcome-unknown)$/),
      message: expect.stringMatching(/the store stopped/),
    })
    await new Promise(resolve => setImmediate(resolve))
    await store.restart({ keys: 'kept' })
    await outcome
    expect(await store.load([{ key: 'b', value: '2' }])).toMatchObject({ loaded: 1 })
  })

  it('reports the progress of its recovery', async () => {
    const data = directory()
    const one = await start(data)
    await one.store.load(Array.from({ length: 3_000 }, (_, i) => ({ key: `k${i}`, value: 'v'.repeat(1_000) })))
    await one.store.close()
    const told: RecoveryProgress[] = []
    await start(data, { onProgress: progress => told.push(progress) })
    const [{ of } = { of: 0 }] = told
    expect(of).toBeGreaterThan(3_000_000)
    const read = told.map(progress => progress.read)
    expect(read).toEqual([...read].sort((a, b) => a - b))
    expect(read.at(-1)).toBeGreaterThan(3_000_000)
    expect(read.at(-1)).toBeLessThanOrEqual(of)
  })

  it('keeps a loaded dump', async () => {
    const data = directory()
    const one = await start(data)
    await one.store.load([
      { key: 'k', value: 'v', fencingToken: NOW },
      { key: 'l', value: '' },
    ])
    const before = [...one.store.dump()]
    await one.store.close()
    expect([...(await readDirectory(data))]).toEqual(before)
  })

  it.each([
    ['all', [], ['flagged', 'other', 'recipes/a']],
    ['none', [], []],
    ['keys', ['recipes/*'], ['flagged', 'recipes/a']],
    ['keys', [], ['flagged']],
  ] as const)(
    'with `persist` %s and `persistKeys` %j, the keys after a restart are %j',
    async (persist, persistKeys, expected) => {
      const data = directory()
      const one = await start(data, { persist, ...(persist === 'keys' && { persistKeys }) })
      const set = async (key: string, userProperties: Record<string, string> = {}) =>
        one.client.request(command(`SET ${key} v`), { timestamp: NOW, userProperties })
      await set('recipes/a')
      await set('other')
      await set('flagged', { 'aio-persistence': 'true' })
      expect(one.store.stats.keys).toBe(3)
      await one.store.close()
      const { store } = await start(data)
      expect([...store.dump()].map(({ key }) => key).sort()).toEqual(expected)
    },
  )

  it('starts with a warning if the directory contains an unknown file', async () => {
    const data = directory()
    const one = await start(data)
    await one.client.request(command('SET k v'), { timestamp: NOW })
    await one.store.close()
    writeFileSync(join(data, 'notes.txt'), 'to do')
    const warnings: unknown[] = []
    const warned = (warning: Error): void => void warnings.push(warning)
    process.on('warning', warned)
    onTestFinished(() => void process.off('warning', warned))
    const two = await start(data)
    expect(two.store.stats.keys).toBe(1)
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'RX_STATESTORE_STRAY_FILE', message: expect.stringContaining('"notes.txt"') }),
    ])
    expect(readFileSync(join(data, 'notes.txt'), 'utf8')).toBe('to do')
  })

  it('rejects a directory in use, and the error names the process', async () => {
    const data = directory()
    await start(data)
    await expect(serve({ port: 0, wsPort: 0, data })).rejects.toMatchObject({
      code: 'in-use',
      message: expect.stringContaining(`process ${process.pid} `),
    })
    await expect(checkDirectory(data)).rejects.toMatchObject({ code: 'in-use' })
  })

  it('creates files that only the owner can read, and removes the lock', async () => {
    const data = directory()
    const { store, client } = await start(data)
    await client.request(command('SET secret v'), { timestamp: NOW })
    await store.close()
    expect(readdirSync(data)).toEqual(['lock.reserve', 'log-0000000000000000', 'mark'])
    expect(readFileSync(join(data, 'log-0000000000000000')).includes('secret')).toBe(true)
  })

  it.each([{ data: '' }, { persist: 'all' }, { persistKeys: ['a'] }, { data: 'd', persistKeys: ['a'] }] as const)(
    'rejects the options %j',
    async options => {
      await expect(serve({ port: 0, wsPort: 0, ...options })).rejects.toMatchObject({ code: 'argument' })
    },
  )

  it('answers the requests of one connection in order', async () => {
    const { client } = await start(directory())
    const answers = await Promise.all(
      ['SET k 1', 'GET k', 'SET k 2', 'GET k', 'DEL k', 'GET k'].map(async words =>
        client.request(command(words), { timestamp: NOW }),
      ),
    )
    expect(answers.map(({ text }) => text)).toEqual([
      '+OK\r\n',
      '$1\r\n1\r\n',
      '+OK\r\n',
      '$1\r\n2\r\n',
      ':1\r\n',
      '$-1\r\n',
    ])
  })
})
