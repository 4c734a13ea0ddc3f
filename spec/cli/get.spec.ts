import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { RunningStore } from '../../src/standalone.js'
import { execute, jsonOf, NOW, openStore, VERSION } from './test-io.js'

const BINARY = Uint8Array.of(0, 255, 10, 13, 128)

describe('get', () => {
  let store: RunningStore
  let url: readonly string[]

  beforeEach(async () => {
    store = await openStore()
    url = ['--url', store.url]
  })

  const set = async (key: string, stdin: string | Uint8Array): Promise<void> => {
    expect(await execute(['set', key, '--file', '-', ...url], { stdin })).toMatchObject({ code: 0, stderr: '' })
  }

  it('writes the value byte by byte into a pipe', async () => {
    await set('k', BINARY)
    const { code, bytes, stderr } = await execute(['get', 'k', ...url])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(bytes).toEqual(Buffer.from(BINARY))
  })

  it('ends the line on a terminal', async () => {
    await set('k', 'twenty-one')
    expect(await execute(['get', 'k', ...url], { columns: 80 })).toMatchObject({ code: 0, stdout: 'twenty-one\n' })
  })

  it('prints nothing for an empty value, which is not an absent one', async () => {
    await set('k', '')
    expect(await execute(['get', 'k', ...url])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('prints Base16 with --hex', async () => {
    await set('k', BINARY)
    expect(await execute(['get', 'k', '--hex', ...url])).toMatchObject({ code: 0, stdout: '00FF0A0D80\n' })
  })

  it('ends with 3 and one line when there is no such key', async () => {
    const { code, stdout, stderr } = await execute(['get', 'nowhere', ...url])
    expect({ code, stdout, stderr }).toEqual({ code: 3, stdout: '', stderr: 'rx-statestore: no such key: nowhere\n' })
  })

  it('prints an object with --json: text as text', async () => {
    await set('a\\b', '{"x":"ä"}')
    const { code, stdout } = await execute(['get', 'a\\b', '--json', ...url])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^[^\n]+\n$/)
    expect(jsonOf(stdout)).toEqual({
      time: new Date(NOW).toISOString(),
      key: 'a\\b',
      op: 'set',
      version: expect.stringMatching(VERSION),
      value: '{"x":"ä"}',
      source: 'snapshot',
    })
  })

  it('prints an object with --json: other bytes, and any with --hex, as Base16', async () => {
    await set('binary', BINARY)
    await set('text', 'A')
    expect(jsonOf((await execute(['get', 'binary', '--json', ...url])).stdout)).toMatchObject({
      valueHex: '00FF0A0D80',
    })
    const { stdout } = await execute(['get', 'text', '--json', '--hex', ...url])
    expect(jsonOf(stdout)).toMatchObject({ valueHex: '41' })
    expect(jsonOf(stdout)).not.toHaveProperty('value')
  })

  it('prints an object with --json for an absent key, and ends with 3 without another word', async () => {
    const { code, stdout, stderr } = await execute(['get', 'nowhere', '--json', ...url])
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(jsonOf(stdout)).toEqual({
      time: new Date(NOW).toISOString(),
      key: 'nowhere',
      op: 'absent',
      source: 'snapshot',
    })
  })

  it('writes to a file with --file', async () => {
    await set('k', BINARY)
    const file = join(await mkdtemp(join(tmpdir(), 'rx-statestore-')), 'value')
    expect(await execute(['get', 'k', '-f', file, ...url])).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(await readFile(file)).toEqual(Buffer.from(BINARY))
  })

  it('writes exact bytes with --file -, even to a terminal', async () => {
    await set('k', BINARY)
    const { bytes } = await execute(['get', 'k', '--file', '-', ...url], { columns: 80 })
    expect(bytes).toEqual(Buffer.from(BINARY))
  })

  it('ends with 1 when the file cannot be written', async () => {
    await set('k', 'v')
    const { code, stderr } = await execute(['get', 'k', '--file', '/nowhere/at/all', ...url])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: cannot write the value: ENOENT.*\n$/)
  })

  it('takes --json before the command, too', async () => {
    await set('k', 'v')
    const { code, stdout } = await execute(['--json', ...url, 'get', 'k'])
    expect(code).toBe(0)
    expect(jsonOf(stdout)).toMatchObject({ key: 'k', value: 'v' })
  })

  it('works over WebSocket', async () => {
    await set('k', 'v')
    expect(await execute(['get', 'k', '--url', store.wsUrl])).toMatchObject({ code: 0, stdout: 'v' })
  })

  it('leaves no connection behind', async () => {
    await execute(['get', 'k', ...url])
    expect(store.clientIds).toEqual([])
  })
})
