import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { from, lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { StoredWrite } from '../../../src/client/optimistic/index.js'
import { fileStorage } from '../../../src/node/file-storage.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

async function open() {
  const directory = join(temporaryFolder(), 'kept')
  const storage = fileStorage(directory)
  return {
    directory,
    load: (key: string) => lastValueFrom(from(storage.load(key))),
    save: (key: string, write: StoredWrite) => lastValueFrom(from(storage.save(key, write))),
    remove: (key: string, id: string) => lastValueFrom(from(storage.remove(key, id))),
  }
}

const write = (id: string, at = 1, seen?: string | null): StoredWrite => ({
  id,
  at,
  value: new Uint8Array([0, 255, 7]),
  ...(seen !== undefined && { seen }),
})

describe('fileStorage', () => {
  it('an empty storage loads nothing and removes nothing', async () => {
    const { load, remove } = await open()
    expect([await load('6B'), await remove('6B', 'a')]).toEqual([undefined, false])
  })

  it.each([undefined, null, '1:0:S'])('a saved write is loaded, seen %s', async seen => {
    const { load, save } = await open()
    await save('6B', write('a', 1, seen))
    expect(await load('6B')).toEqual(write('a', 1, seen))
    expect(await load('6C')).toBeUndefined()
  })

  it('the base of a write is stored', async () => {
    const { load, save } = await open()
    const made = { ...write('a'), base: new Uint8Array([9, 0, 255]) }
    await save('6B', made)
    expect(await load('6B')).toEqual(made)
  })

  it('only the newest write of each key is kept, for any name of the key', async () => {
    const { load, save, directory } = await open()
    const long = 'FF'.repeat(30_000)
    await save(long, write('a'))
    await save(long, write('../b', 2))
    await save('6B', write('a'))
    expect(await load(long)).toEqual(write('../b', 2))
    expect(await readdir(directory)).toHaveLength(2)
    expect((await stat(join(directory, (await readdir(directory))[0] ?? ''))).mode & 0o777).toBe(0o600)
  })

  it('a write is removed by exactly one caller, and only by its id', async () => {
    const { load, save, remove } = await open()
    await save('6B', write('a'))
    expect(await remove('6B', 'b')).toBe(false)
    const taken = await Promise.all(Array.from({ length: 5 }, () => remove('6B', 'a')))
    expect(taken.filter(Boolean)).toHaveLength(1)
    expect(await load('6B')).toBeUndefined()
  })

  it('after concurrent saves, no older write reappears once the newest is removed', async () => {
    const { load, save, remove } = await open()
    await Promise.all([save('6B', write('a')), save('6B', write('b', 2)), save('6B', write('c', 1))])
    expect(await load('6B')).toEqual(write('b', 2))
    expect(await remove('6B', 'b')).toBe(true)
    expect(await load('6B')).toBeUndefined()
  })

  it('a failed save leaves no files', async () => {
    const { save, directory } = await open()
    await save('6B', write('a'))
    const [file = ''] = await readdir(directory)
    await rm(join(directory, file))
    await mkdir(join(directory, file))
    await expect(save('6B', write('a'))).rejects.toThrow()
    expect(await readdir(directory)).toEqual([file])
  })

  it('a read error names the file', async () => {
    const { load, save, directory } = await open()
    await save('6B', write('a'))
    const [file = ''] = await readdir(directory)
    await writeFile(join(directory, file), '{}')
    await expect(load('6B')).rejects.toThrow(file)
  })

  it('an empty directory name is rejected', () => {
    expect(() => fileStorage('')).toThrow('Expected the directory to be a path')
  })
})
