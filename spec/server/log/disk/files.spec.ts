import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeDirectory } from '../../../../src/server/log/disk/files.js'
import { temporaryFolder } from '../../../support/temporary-folder.js'

describe('makeDirectory', () => {
  let root: string
  beforeEach(() => {
    root = temporaryFolder()
  })
  afterEach(() => rmSync(root, { recursive: true }))

  it('creates a directory and its parents, accessible only to the current user', async () => {
    await makeDirectory(join(root, 'a/b/c'))
    expect(statSync(join(root, 'a/b/c')).mode & 0o777).toBe(0o700)
    expect(statSync(join(root, 'a')).mode & 0o777).toBe(0o700)
  })

  it('flushes the name of each directory that it creates, and no other name', async () => {
    const flushed: string[] = []
    const flush = async (directory: string): Promise<void> => void flushed.push(directory)
    await makeDirectory(join(root, 'a/b'), flush)
    await makeDirectory(join(root, 'a/b'), flush)
    expect(flushed).toEqual([root, join(root, 'a')])
  })

  it('leaves an existing directory unchanged, and can run twice concurrently', async () => {
    await Promise.all([makeDirectory(join(root, 'a/b')), makeDirectory(join(root, 'a/b'))])
    await makeDirectory(root)
    expect(existsSync(join(root, 'a/b'))).toBe(true)
  })

  it('rejects if a file already has the name', async () => {
    writeFileSync(join(root, 'file'), '')
    await expect(makeDirectory(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(makeDirectory(join(root, 'file/below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it.runIf(existsSync('/proc/self'))('rejects if the parent exists but the directory cannot be created', async () => {
    await expect(makeDirectory('/proc/rx-statestore/data')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
