import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { checkDirectory } from '../../src/standalone/directory.js'
import { serve } from '../../src/standalone.js'
import { RawClient } from '../support/raw-client.js'
import { command } from '../support/words.js'

const folder = mkdtempSync(join(tmpdir(), 'full-disk-'))
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder], { stdio: 'ignore' }).status === 0
if (!mounted)
  console.info('left out: a full disk (needs the right to mount a tmpfs); spec/disk/failing-disk imitates one')

afterAll(() => {
  if (mounted) spawnSync('umount', [folder])
  rmSync(folder, { recursive: true, force: true })
})

describe.runIf(mounted)('A small disk that is full', () => {
  it('refuses what does not fit, reads on, tells, and goes on when there is room: nothing answered is lost', async () => {
    const filler = join(folder, 'filler')
    writeFileSync(filler, new Uint8Array(1024 * 1024))
    const data = join(folder, 'state')
    const store = await serve({ port: 0, wsPort: 0, data })
    const client = await RawClient.ready(store.url, 'alice')
    const told: string[] = []
    store.storage$.subscribe(({ state }) => told.push(state))
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
    expect(told).toEqual(['full', 'kept'])
    await store.close()
    expect(await checkDirectory(data)).toMatchObject({ keys: kept + 1, torn: 0 })
  })
})
