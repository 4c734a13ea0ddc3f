import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { serve } from '../../src/server/index.js'
import { scratch } from './open-console.js'
import { execute } from './test-io.js'

const LINES = [
  { key: 'a', value: '1', version: '1696374425000:1:StateStore', fencingToken: '5:0:lock' },
  { key: 'b', value: '2', version: '1696374425000:2:StateStore', expiresAt: Date.now() + 86_400_000 },
]

/** The directory of a store that ran and is closed. */
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

  it('names and ignores files of other programs', async () => {
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

  it('fails for a missing directory and for one of another program', async () => {
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

  it('refuses the directory of a running store', async () => {
    const data = await written()
    const store = await serve({ port: 0, wsPort: 0, data })
    const { code, stderr } = await execute(['dump', '--data', data])
    await store.close()
    expect([code, stderr]).toEqual([1, expect.stringContaining(`the process ${process.pid} holds the directory`)])
    expect(stderr).toContain(`--console-token-file ${join(data, 'console-token')}`)
  })
})

describe('serve --data', () => {
  it('names the process that uses the directory', async () => {
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
