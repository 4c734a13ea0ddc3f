import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { processIo } from '../../src/cli/io.js'
import { omissionTable } from '../../src/cli/recover.js'
import { serve } from '../../src/server/index.js'
import { scratch } from './open-console.js'
import { execute } from './test-io.js'

const LOG = 'log-0000000000000000'

/** Returns the directory of a closed store that wrote one key per entry. */
async function written(...keys: readonly string[]): Promise<string> {
  const data = await scratch('state')
  const store = await serve({ port: 0, wsPort: 0, data })
  for (const key of keys) await store.load([{ key, value: `value of ${key}` }])
  await store.close()
  return data
}

/** Flips a bit in a key's value. */
async function damage(data: string, key: string): Promise<void> {
  const file = join(data, LOG)
  const bytes = await readFile(file)
  const at = bytes.indexOf(`value of ${key}`)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  await writeFile(file, bytes)
}

const contentsOf = async (data: string): Promise<unknown> =>
  Promise.all((await readdir(data)).map(async name => [name, await readFile(join(data, name), 'hex')]))

describe('recover', () => {
  it('writes intact data to a new directory, lists omitted records and exits with code 5', async () => {
    const data = await written('a', 'b', 'c')
    await damage(data, 'b')
    const before = await contentsOf(data)
    expect(await execute(['check', data])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('save the intact part with `rx-statestore recover`'),
    })
    const to = await scratch('recovered')
    const { code, stdout, stderr } = await execute(['recover', data, '--to', to])
    expect(stdout.replaceAll(to, 'NEW')).toBe(
      [
        'position  bytes  omitted                                          readable keys',
        `       3     80  damaged entry, ${LOG} at byte 173  b`,
        '',
        'recovered  2 keys in NEW, at position 4; 3 entries of the log',
        'omitted    1 entry',
        '',
      ].join('\n'),
    )
    expect([code, stderr]).toEqual([5, expect.stringContaining('is incomplete')])
    expect(await contentsOf(data)).toEqual(before)
    const { stdout: lines } = await execute(['dump', '--data', to])
    expect(lines.trim().split('\n').slice(1, -1)).toEqual([
      expect.stringContaining('"key":"a","value":"value of a"'),
      expect.stringContaining('"key":"c","value":"value of c"'),
    ])
    const store = await serve({ port: 0, wsPort: 0, data: to })
    expect(store.stats.keys).toBe(2)
    await store.close()
  })

  it('prints one JSON object per record with --json, and another object with the totals', async () => {
    const data = await written('a', 'b', 'c')
    await damage(data, 'b')
    const { stdout } = await execute(['recover', data, '--to', await scratch('recovered'), '--json'])
    const [omission, totals] = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(omission).toEqual({
      leftOut: 'entries',
      first: 3,
      last: 3,
      file: LOG,
      at: expect.any(Number),
      bytes: expect.any(Number),
      keys: [{ key: 'b' }],
    })
    expect(totals).toEqual({
      keys: 2,
      position: 4,
      entries: 3,
      lostKeys: 0,
      torn: 0,
      isEndKnown: true,
      strays: [],
      leftOut: 1,
    })
  })

  it('exits with code 0 when everything is recovered', async () => {
    const data = await written('a')
    await writeFile(join(data, 'notes.txt'), '')
    const { code, stdout } = await execute(['recover', data, '--to', await scratch('recovered')])
    expect([code, stdout]).toEqual([0, expect.stringContaining('omitted    nothing\nignored    notes.txt')])
  })

  it('rejects a target that contains files or is inside the damaged directory', async () => {
    const data = await written('a')
    const to = await scratch('recovered')
    await mkdir(to)
    await writeFile(join(to, 'notes.txt'), '')
    for (const target of [to, data, join(data, 'new')]) {
      expect(await execute(['recover', data, '--to', target])).toMatchObject({ code: 2, stdout: '' })
    }
    expect(await execute(['recover', data])).toMatchObject({ code: 2 })
  })

  it('rejects missing directories, running stores and directories of other programs', async () => {
    const data = await written('a')
    const to = await scratch('recovered')
    const store = await serve({ port: 0, wsPort: 0, data })
    expect(await execute(['recover', data, '--to', to])).toMatchObject({ code: 1 })
    await store.close()
    const other = await scratch('other')
    await mkdir(other)
    await cp(join(data, LOG), join(other, 'letter.txt'))
    expect(await execute(['recover', other, '--to', to])).toMatchObject({ code: 1 })
    expect(await execute(['recover', join(other, 'none'), '--to', to])).toMatchObject({ code: 1 })
    await expect(readdir(to)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('The table of omitted records', () => {
  it('has a line for each of 200,000 records', { tags: 'slow' }, () => {
    const omissions = Array.from({ length: 200_000 }, (_, i) => ({
      type: 'write' as const,
      position: i + 1,
      bytes: 40,
      verb: 'SET' as const,
      key: Uint8Array.of(97),
      why: 'condition' as const,
    }))
    const [heading = '', ...lines] = omissionTable(omissions, { ...processIo(), env: { NO_COLOR: '1' } })
    expect(heading).toContain('position  bytes  omitted')
    expect(lines).toHaveLength(200_001)
    expect(lines.at(-2)).toBe('  200000     40  SET: its condition depends on missing data  a\n')
  })
})
