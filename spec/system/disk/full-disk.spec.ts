import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { serve } from '../../../src/server/index.js'
import { checkDirectory } from '../../../src/server/storage/directory.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command } from '../../support/words.js'

const folder = temporaryFolder()
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder], { stdio: 'ignore' }).status === 0
if (!mounted)
  console.info('left out: a full disk (needs the right to mount a tmpfs); spec/disk/failing-disk imitates one')

afterEach(() => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
})

afterAll(() => {
  if (mounted) spawnSync('umount', [folder])
  rmSync(folder, { recursive: true, force: true })
})

describe.runIf(mounted)('a full small disk', () => {
  it('a store on a full disk rejects writes, serves reads, and recovers once there is space', async () => {
    const filler = join(folder, 'filler')
    writeFileSync(filler, new Uint8Array(1024 * 1024))
    const data = join(folder, 'state')
    const store = await serve({ port: 0, wsPort: 0, data })
    const client = await StoreClient.ready(store.url, 'alice')
    const reported: string[] = []
    store.storage$.subscribe(({ state }) => reported.push(state))
    const set = async (i: number): Promise<string> => {
      const answer = await client.request(command(`SET k${i} ${'x'.repeat(100_000)}`), {
        timestamp: `${Date.now()}:0:alice`,
      })
      return answer.text
    }
    const answers: string[] = []
    while (answers.at(-1) !== '-ERR the quota has been exceeded\r\n' && answers.length < 30)
      answers.push(await set(answers.length))
    const kept = answers.length - 1
    expect([kept > 3, kept < 29, new Set(answers.slice(0, -1))]).toEqual([true, true, new Set(['+OK\r\n'])])
    expect((await client.request(command('GET k0'))).text).toHaveLength(100_000 + '$100000\r\n\r\n'.length)
    expect(store.stats.keys).toBe(kept)
    rmSync(filler)
    expect(await set(kept)).toBe('+OK\r\n')
    expect(reported).toEqual(['full', 'kept'])
    await store.close()
    expect(await checkDirectory(data)).toMatchObject({ keys: kept + 1, torn: 0 })
  })

  it('a restart without space serves all but writes, which need space', async () => {
    const data = join(folder, 'again')
    const one = await serve({ port: 0, wsPort: 0, data })
    const alice = await StoreClient.ready(one.url, 'alice')
    const write = async (client: StoreClient, words: string): Promise<string> =>
      (await client.request(command(words), { timestamp: `${Date.now()}:0:alice` })).text
    for (const key of ['a', 'b']) expect(await write(alice, `SET ${key} ${'v'.repeat(10_000)}`)).toBe('+OK\r\n')
    await one.close()
    const filler = join(folder, 'filler')
    expect(() => writeFileSync(filler, new Uint8Array(2 * 1024 * 1024))).toThrow('ENOSPC')
    const two = await serve({ port: 0, wsPort: 0, data })
    const bob = await StoreClient.ready(two.url, 'bob')
    expect((await bob.request(command('GET a'))).text).toContain('vvv')
    expect((await bob.request(command('KEYNOTIFY b'))).text).toBe('+OK\r\n')
    // The value fits into the preallocated space once.
    const large = `SET c ${'x'.repeat(1_000_000)}`
    expect(await write(bob, large)).toBe('-ERR the quota has been exceeded\r\n')
    expect(two.storage.state).toBe('full')
    expect(await write(bob, 'DEL b')).toBe(':1\r\n')
    expect(await write(bob, 'DEL absent')).toBe(':0\r\n')
    expect(two.storage.state).toBe('full')
    await two.close()
    const three = await serve({ port: 0, wsPort: 0, data })
    const carol = await StoreClient.ready(three.url, 'carol')
    rmSync(filler)
    expect(await write(carol, large)).toBe('+OK\r\n')
    expect(three.storage.state).toBe('kept')
    await three.close()
    expect(await checkDirectory(data)).toMatchObject({ keys: 2 })
  })
})
