import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeDirectory } from '../../../../src/server/log/disk/files.js'

describe('makeDirectory', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'make-directory-'))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  it('makes a directory and those it is in, for our own user alone', async () => {
    await makeDirectory(join(root, 'a/b/c'))
    expect(statSync(join(root, 'a/b/c')).mode & 0o777).toBe(0o700)
    expect(statSync(join(root, 'a')).mode & 0o777).toBe(0o700)
  })

  it('flushes the name of each directory it made, and of no other', async () => {
    const flushed: string[] = []
    const flush = async (directory: string): Promise<void> => void flushed.push(directory)
    await makeDirectory(join(root, 'a/b'), flush)
    await makeDirectory(join(root, 'a/b'), flush)
    expect(flushed).toEqual([root, join(root, 'a')])
  })

  it('leaves one as it is that is there, and may be asked twice at a time', async () => {
    await Promise.all([makeDirectory(join(root, 'a/b')), makeDirectory(join(root, 'a/b'))])
    await makeDirectory(root)
    expect(existsSync(join(root, 'a/b'))).toBe(true)
  })

  it('rejects where a file is in the way', async () => {
    writeFileSync(join(root, 'file'), '')
    await expect(makeDirectory(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(makeDirectory(join(root, 'file/below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it.runIf(existsSync('/proc/self'))('rejects where the parent is there and nothing can be made', async () => {
    await expect(makeDirectory('/proc/rx-statestore/data')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
