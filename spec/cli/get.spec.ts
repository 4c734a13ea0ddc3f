import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { StoreServer } from '../../src/server/index.js'
import { StoreClient } from '../support/store-client.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { command } from '../support/words.js'
import { execute, jsonOf, NOW, openStore, VERSION } from './test-io.js'

const BINARY = Uint8Array.of(0, 255, 10, 13, 128)

describe('get', () => {
  let store: StoreServer
  let url: readonly string[]

  beforeEach(async () => {
    store = await openStore()
    url = ['--url', store.url]
  })

  const set = async (key: string, stdin: string | Uint8Array): Promise<void> => {
    expect(await execute(['set', key, '--file', '-', ...url], { stdin })).toMatchObject({ code: 0, stderr: '' })
  }

  it('writes the exact bytes of a value to a pipe', async () => {
    await set('k', BINARY)
    const { code, bytes, stderr } = await execute(['get', 'k', ...url])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(bytes).toEqual(Buffer.from(BINARY))
  })

  it('appends a line end on a terminal', async () => {
    await set('k', 'twenty-one')
    expect(await execute(['get', 'k', ...url], { columns: 80 })).toMatchObject({ code: 0, stdout: 'twenty-one\n' })
  })

  it('prints nothing for an empty value, and exits with code 0', async () => {
    await set('k', '')
    expect(await execute(['get', 'k', ...url])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('prints Base16 with --hex', async () => {
    await set('k', BINARY)
    expect(await execute(['get', 'k', '--hex', ...url])).toMatchObject({ code: 0, stdout: '00FF0A0D80\n' })
  })

  it('exits with code 3 and one line when the key does not exist', async () => {
    const { code, stdout, stderr } = await execute(['get', 'nowhere', ...url])
    expect({ code, stdout, stderr }).toEqual({ code: 3, stdout: '', stderr: 'rx-statestore: no such key: nowhere\n' })
  })

  it('prints text values as text with --json', async () => {
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

  it('prints other values as Base16 with --json, and all values with --json --hex', async () => {
    await set('binary', BINARY)
    await set('text', 'A')
    expect(jsonOf((await execute(['get', 'binary', '--json', ...url])).stdout)).toMatchObject({
      valueHex: '00FF0A0D80',
    })
    const { stdout } = await execute(['get', 'text', '--json', '--hex', ...url])
    expect(jsonOf(stdout)).toMatchObject({ valueHex: '41' })
    expect(jsonOf(stdout)).not.toHaveProperty('value')
  })

  it('prints an object with --json for an absent key, and exits with code 3 without a message', async () => {
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
    const file = join(temporaryFolder(), 'value')
    expect(await execute(['get', 'k', '-f', file, ...url])).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(await readFile(file)).toEqual(Buffer.from(BINARY))
  })

  it('writes exact bytes with --file -, even to a terminal', async () => {
    await set('k', BINARY)
    const { bytes } = await execute(['get', 'k', '--file', '-', ...url], { columns: 80 })
    expect(bytes).toEqual(Buffer.from(BINARY))
  })

  it('exits with code 1 when the file cannot be written', async () => {
    await set('k', 'v')
    const { code, stderr } = await execute(['get', 'k', '--file', '/nowhere/at/all', ...url])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: cannot write the value: ENOENT.*\n$/)
  })

  it('accepts --json before the command', async () => {
    await set('k', 'v')
    const { code, stdout } = await execute(['--json', ...url, 'get', 'k'])
    expect(code).toBe(0)
    expect(jsonOf(stdout)).toMatchObject({ key: 'k', value: 'v' })
  })

  it('prints one line per key, tab-separated in a pipe, in quoted columns on a terminal', async () => {
    await set('a', 'one\ntwo')
    await set('two words', BINARY)
    const keys = ['get', 'a', 'two words', ...url]
    expect(await execute(keys)).toMatchObject({ code: 0, stdout: 'a\tone\\ntwo\ntwo words\t0x00FF0A0D80\n' })
    expect(await execute(keys, { columns: 80 })).toMatchObject({
      stdout: "a            one\\ntwo\n'two words'  0x00FF0A0D80\n",
    })
    expect((await execute(['get', 'a', 'a', '--hex', ...url])).stdout).toBe('a\t0x6F6E650A74776F\n'.repeat(2))
  })

  it('prints the keys that exist, and exits with code 3 and the names of missing keys', async () => {
    await set('a', '1')
    const { code, stdout, stderr } = await execute(['get', 'x', 'a', 'y', ...url])
    expect({ code, stdout, stderr }).toEqual({
      code: 3,
      stdout: 'a\t1\n',
      stderr: 'rx-statestore: no such keys: x, y\n',
    })
    const many = Array.from({ length: 8 }, (_, index) => `none${index}`)
    const words = 'no such keys: none0, none1, none2, none3, none4 and 3 more'
    expect((await execute(['get', ...many, ...url])).stderr).toBe(`rx-statestore: ${words}\n`)
    const json = await execute(['get', 'x', 'a', '--json', ...url])
    expect(json).toMatchObject({ code: 3, stderr: '' })
    expect(json.stdout.trim().split('\n').map(jsonOf)).toMatchObject([
      { key: 'x', op: 'absent' },
      { key: 'a', value: '1' },
    ])
  })

  it('shortens the values of several keys only on a terminal', async () => {
    await set('a', 'x'.repeat(1_000))
    expect((await execute(['get', 'a', 'a', ...url])).stdout).toContain('x'.repeat(1_000))
    expect((await execute(['get', 'a', 'a', ...url], { columns: 60 })).stdout.split('\n')[0]).toHaveLength(60)
  })

  it('reads keys from standard input, including keys that are not text', async () => {
    await set('a', '1')
    const binary = await StoreClient.ready(store.url, 'binary')
    await binary.request(command('SET \xff\x00 v'), { timestamp: `${Date.now()}:0:binary` })
    await binary.disconnect()
    const { stdout: stdin } = await execute(['keys', ...url])
    expect((await execute(['get', '-', ...url], { stdin })).stdout.split('\n').sort()).toEqual([
      '',
      "$'\\xFF\\x00'\tv",
      'a\t1',
    ])
    const json = await execute(['get', '-', '--json', ...url], { stdin: "$'\\xFF\\x00'" })
    expect(jsonOf(json.stdout)).toMatchObject({ keyHex: 'FF00', value: 'v' })
  })

  it.each([
    [
      'a key that the operating system passes as invalid text',
      ['get', 'a\uFFFD'],
      '',
      /a key that is not text must be quoted as "\\\$'\\xFF\\x00'"/,
    ],
    ['keys that are not text', ['get', '-'], Uint8Array.of(255), /must be text, one per line/],
    ['an output file for several keys', ['get', 'a', 'b', '--file', 'x'], '', /--file requires exactly one key/],
  ])('exits with code 2 for %s', async (_, args, stdin, words) => {
    const { code, stderr } = await execute([...args, ...url], { stdin })
    expect(code).toBe(2)
    expect(stderr).toMatch(words)
  })

  it('reads a value over WebSocket', async () => {
    await set('k', 'v')
    expect(await execute(['get', 'k', '--url', store.wsUrl])).toMatchObject({ code: 0, stdout: 'v' })
  })

  it('closes all connections', async () => {
    await execute(['get', 'k', ...url])
    expect(store.clientIds).toEqual([])
  })
})
