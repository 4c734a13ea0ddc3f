import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../harness/free-port.js'
import { text } from '../../src/client/index.js'
import { systemClock } from '../../src/core/util/clock.js'
import { serve } from '../../src/server/index.js'
import { openDirectory } from '../../src/server/storage/storage.js'
import { openClient, record } from '../support/open-client.js'
import { scratch } from './open-console.js'
import { execute } from './test-io.js'

const LINES = [
  { key: 'a', value: '1', version: '1696374425000:1:StateStore', fencingToken: '5:0:lock' },
  { key: 'b', value: '2', version: '1696374425000:2:StateStore', expiresAt: Date.now() + 86_400_000 },
]

/** Returns the directory of a store that ran and is closed. */
async function written(): Promise<string> {
  const data = await scratch('state')
  const store = await serve({ port: 0, wsPort: 0, data })
  await store.load(LINES)
  await store.close()
  return data
}

describe('check', () => {
  it('summarises an intact directory', async () => {
    const data = await written()
    expect(await execute(['check', data])).toMatchObject({
      code: 0,
      stdout: '2 keys at position 2: a snapshot of 0 keys and 2 later entries\nno damage found\n',
      stderr: '',
    })
    const { stdout } = await execute(['check', data, '--json'])
    expect(JSON.parse(stdout)).toEqual({ keys: 2, position: 2, entries: 2, stateKeys: 0, torn: 0, strays: [] })
  })

  it('lists files of other programs and ignores them', async () => {
    const data = await written()
    await writeFile(join(data, 'notes.txt'), 'to do')
    const { code, stdout } = await execute(['check', data])
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('notes.txt was ignored: it is not a file of a state store'),
    ])
  })

  it('fails when data is missing, and changes nothing', async () => {
    const data = await written()
    await truncate(join(data, 'log-0000000000000000'), 100)
    const before = await readdir(data)
    const { code, stderr } = await execute(['check', data])
    expect([code, stderr]).toEqual([1, expect.stringContaining('entries up to 2 were committed, but the log ends at')])
    expect(await readdir(data)).toEqual(before)
  })

  it('fails for a missing directory and for a directory of another program', async () => {
    const none = await scratch('none')
    expect((await execute(['check', none])).code).toBe(1)
    expect(await readdir(join(none, '..'))).toEqual([])
    await mkdir(none)
    await writeFile(join(none, 'letter.txt'), 'Dear')
    expect(await execute(['check', none])).toMatchObject({ code: 1, stderr: expect.stringContaining('letter.txt') })
  })
})

describe('dump --data', () => {
  it('prints all keys of a stopped store with versions, expiry and fencing tokens', async () => {
    const data = await written()
    const { code, stdout } = await execute(['dump', '--data', data])
    expect([
      code,
      stdout
        .trim()
        .split('\n')
        .slice(1, -1)
        .map(line => JSON.parse(line)),
    ]).toEqual([0, LINES])
  })

  it('rejects the directory of a running store', async () => {
    const data = await written()
    const store = await serve({ port: 0, wsPort: 0, data })
    const { code, stderr } = await execute(['dump', '--data', data])
    await store.close()
    expect([code, stderr]).toEqual([1, expect.stringContaining(`the process ${process.pid} holds the directory`)])
    expect(stderr).toContain(`--console-token-file ${join(data, 'console-token')}`)
  })
})

describe('load --data', () => {
  it('loads a dump into the directory of a stopped store, which a store then serves', async () => {
    const data = await written()
    const stdin = '{"key":"b","value":"new"}\n{"key":"c","value":"3","version":"1696374425000:3:StateStore"}\n'
    expect(await execute(['load', '--data', data], { stdin })).toMatchObject({
      code: 0,
      stdout: '2 keys loaded, 1 kept the version of the dump\n',
      stderr: '',
    })
    const store = await serve({ port: 0, wsPort: 0, data })
    const values = Array.from(store.dump(), ({ key, value }) => [key, value])
    await store.close()
    expect(values.sort()).toEqual([
      ['a', '1'],
      ['b', 'new'],
      ['c', '3'],
    ])
  })

  it('deletes the other keys with --replace, and counts them', async () => {
    const data = await written()
    const stdin = '{"key":"b","value":"new"}\n'
    const { code, stdout } = await execute(['load', '--data', data, '--replace', '--json'], { stdin })
    expect([code, JSON.parse(stdout)]).toEqual([0, { loaded: 1, versionsKept: 0, expired: 0, deleted: 1 }])
    const { stdout: dump } = await execute(['dump', '--data', data])
    expect(dump).toContain('"keys":1')
  })

  it('creates a missing directory, whose content equals the dump', async () => {
    const { stdout: stdin } = await execute(['dump', '--data', await written()])
    const data = await scratch('restored')
    expect(await execute(['load', '--data', data], { stdin })).toMatchObject({
      code: 0,
      stdout: '2 keys loaded, 2 kept the version of the dump\n',
    })
    expect((await execute(['dump', '--data', data])).stdout).toBe(stdin)
    expect(await execute(['check', data])).toMatchObject({ code: 0 })
  })

  it('clients that stay open emit the restored value when the store starts, although it is older', async () => {
    const data = await written()
    const port = await freePort()
    const store = await serve({ port, wsPort: 0, data })
    const client = openClient(store.url, { reconnect: { initial: 5, max: 20 } })
    const key = client.key('a', text)
    const seen = record(key.value$)
    await seen.until(({ values }) => values.at(-1) === '1')
    const { stdout: stdin } = await execute(['dump', '--partial', '--url', store.url])
    await firstValueFrom(key.set('2', { fencingToken: '6:0:lock' }))
    await store.close()
    const empty = await scratch('empty')
    expect(await execute(['load', '--data', empty], { stdin })).toMatchObject({ code: 0 })
    const restored = await serve({ port, wsPort: 0, data: empty })
    onTestFinished(async () => restored.close())
    await seen.until(({ values }) => values.length === 3)
    expect(seen.values).toEqual(['1', '2', '1'])
  })

  it('refuses the directory of a running store, and changes nothing', async () => {
    const data = await written()
    const store = await serve({ port: 0, wsPort: 0, data })
    const { code, stderr } = await execute(['load', '--data', data, '--replace'], {
      stdin: '{"key":"a","value":"1"}\n',
    })
    const left = store.stats.keys
    await store.close()
    const hint =
      'Load the dump through its console (serve --console): rx-statestore load --console <address of the console> '
    expect([code, stderr, left]).toEqual([1, expect.stringContaining(hint), 2])
    expect(stderr).toContain(`--console-token-file ${join(data, 'console-token')}`)
  })

  it('does not change the directory of another program', async () => {
    const data = await scratch('letters')
    await mkdir(data)
    await writeFile(join(data, 'letter.txt'), 'Dear')
    const { code, stderr } = await execute(['load', '--data', data], { stdin: '{"key":"a","value":"1"}\n' })
    expect([code, stderr]).toEqual([1, expect.stringContaining('letter.txt')])
    expect(await readdir(data)).toEqual(['letter.txt'])
  })

  it.each([
    ['invalid', 'no JSON'],
    ['with a fencing token from the future', '{"key":"a","value":"1","fencingToken":"9000000000000:0:lock"}'],
  ])('creates no directory for a dump %s', async (_, line) => {
    const none = await scratch('none')
    const { code, stderr } = await execute(['load', '--data', none], { stdin: `${line}\n` })
    expect([code, stderr]).toEqual([1, expect.stringContaining('nothing was loaded')])
    expect(await readdir(join(none, '..'))).toEqual([])
  })

  it('rejects an empty path, which would be the working directory', async () => {
    const stdin = '{"key":"a","value":"1"}\n'
    expect(await execute(['load', '--data', ''], { stdin })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Expected `--data` to be the path of a directory'),
    })
    const limits = { maxKeys: 1, maxBytes: 1 }
    const settings = { data: '', clock: systemClock, onProgress: () => undefined }
    const events = { onFailed: () => undefined, onError: () => undefined }
    await expect(openDirectory(settings, limits, events)).rejects.toThrow('got ``')
  })

  it('loads nothing from a truncated dump, and releases the directory', async () => {
    const { stdout: dump } = await execute(['dump', '--data', await written()])
    const data = await written()
    const stdin = dump.split('\n').slice(0, 2).join('\n')
    const { code, stderr } = await execute(['load', '--data', data, '--replace'], { stdin })
    expect([code, stderr]).toEqual([1, expect.stringContaining('nothing was loaded')])
    expect((await execute(['dump', '--data', data])).stdout).toContain('"keys":2')
  })
})

describe('serve --data', () => {
  it('reports the process that uses the directory', async () => {
    const data = await written()
    const store = await serve({ port: 0, wsPort: 0, data })
    const { code, stderr } = await execute(['serve', '--port', '0', '--ws-port', '0', '--data', data])
    await store.close()
    expect([code, stderr]).toEqual([1, expect.stringContaining(`cannot open ${data}: the process ${process.pid} `)])
  })

  it('is required by --persist and --persist-key', async () => {
    expect(await execute(['serve', '--port', '0', '--ws-port', '0', '--persist', 'none'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Expected `data` together with `persist`'),
    })
  })
})
