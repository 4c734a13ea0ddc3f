import { beforeEach, describe, expect, it } from 'vitest'
import type { StoreServer } from '../../src/server/index.js'
import { eventually } from '../support/eventually.js'
import { layLink } from '../support/link.js'
import { ManualClock } from '../support/manual-clock.js'
import { StoreClient } from '../support/store-client.js'
import { command } from '../support/words.js'
import { execute, openStore, start } from './test-io.js'

const sorted = (text: string): string[] => text.split('\n').slice(0, -1).sort()

describe('keys', () => {
  let store: StoreServer
  let url: readonly string[]

  beforeEach(async () => {
    store = await openStore()
    url = ['--url', store.url]
    for (const key of ['asset/1', 'asset/2', 'a\\b', 'two\nlines']) await execute(['set', key, 'v', ...url])
  })

  const setBinary = async (): Promise<void> => {
    const client = await StoreClient.ready(store.url, 'binary')
    await client.request(command('SET \xff\x00 v'), { timestamp: `${Date.now()}:0:binary` })
    await client.disconnect()
  }

  it('prints one key per line', async () => {
    const { code, stdout, stderr } = await execute(['keys', ...url])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(sorted(stdout)).toEqual(["$'two\\nlines'", 'a\\b', 'asset/1', 'asset/2'])
  })

  it('quotes keys on a terminal so that they can be pasted into a shell', async () => {
    await setBinary()
    await execute(['set', "it's", 'v', ...url])
    const { stdout } = await execute(['keys', ...url], { columns: 80, env: { NO_COLOR: '1' } })
    expect(sorted(stdout)).toEqual([
      `"\\$'\\xFF\\x00'"`,
      "$'two\\nlines'",
      "'a\\b'",
      "'it'\\''s'",
      'KEY',
      'asset/1',
      'asset/2',
    ])
  })

  it('sorts keys in natural order below a header on a terminal', async () => {
    for (const line of [10, 9, 1]) await execute(['set', `line-${line}`, 'v', ...url])
    const world = { columns: 80, env: { NO_COLOR: '1' } }
    expect((await execute(['keys', 'line-*', ...url], world)).stdout).toBe('KEY\nline-1\nline-9\nline-10\n')
    const { stdout } = await execute(['keys', 'line-*', '-v', ...url], world)
    expect(stdout.split('\n').map(line => line.split(/ +/).slice(0, 2).join(' '))).toEqual([
      'KEY VALUE',
      'line-1 v',
      'line-9 v',
      'line-10 v',
      '',
    ])
    expect((await execute(['keys', 'none-*', ...url], world)).stdout).toBe('')
  })

  it('prints the keys that match a glob, or nothing when no key matches', async () => {
    expect(sorted((await execute(['keys', 'asset/*', ...url])).stdout)).toEqual(['asset/1', 'asset/2'])
    expect(sorted((await execute(['keys', 'a\\\\*', ...url])).stdout)).toEqual(['a\\b'])
    expect(await execute(['keys', 'x*', ...url])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('prints binary keys as keyHex and text keys as key with --json', async () => {
    await setBinary()
    await execute(['set', '0xFF00', 'v', ...url])
    const { stdout } = await execute(['keys', '--json', ...url])
    const keys = ['0xFF00', 'a\\b', 'asset/1', 'asset/2', 'two\nlines'].map(key => ({ key }))
    expect(sorted(stdout).map(line => JSON.parse(line))).toEqual([...keys, { keyHex: 'FF00' }])
    expect(sorted((await execute(['keys', '[^0a-z]*', ...url])).stdout)).toEqual(["$'\\xFF\\x00'"])
  })

  it('prints the number of keys with --count', async () => {
    expect(await execute(['keys', '--count', ...url])).toMatchObject({ code: 0, stdout: '4\n' })
    expect(await execute(['keys', 'x', '--count', ...url])).toMatchObject({ code: 0, stdout: '0\n' })
    expect(await execute(['keys', 'asset/*', '--count', '--json', ...url])).toMatchObject({ stdout: '{"count":2}\n' })
  })

  it('prints thousands of keys page by page', { tags: 'slow' }, async () => {
    const client = await StoreClient.ready(store.url, 'many')
    const names = Array.from({ length: 2_500 }, (_, index) => `many/${String(index).padStart(4, '0')}`)
    const timestamp = `${Date.now()}:0:many`
    await Promise.all(names.map(async name => client.request(command(`SET ${name} v`), { timestamp })))
    expect(sorted((await execute(['keys', 'many/*', ...url])).stdout)).toEqual(names)
    expect(await execute(['keys', 'many/*', '--count', ...url])).toMatchObject({ stdout: '2500\n' })
    await client.disconnect()
  })

  it('shows progress on a terminal after a second, and clears it', async () => {
    const link = await layLink(store.url)
    const clock = new ManualClock()
    link.cut()
    const { stdout, stderr, exit } = start(['keys', '--count', '--url', link.url], { columns: 80, clock })
    await eventually(() => clock.pending > 0)
    clock.advance(999)
    expect(stderr.text).toBe('')
    clock.advance(1)
    expect(stderr.text).toBe('\r\u001b[K0 keys')
    link.restore()
    expect(await exit).toBe(0)
    expect([stdout.text, clock.pending]).toEqual(['4\n', 0])
    expect(stderr.text).toBe('\r\u001b[K0 keys\r\u001b[K')
  })

  it('shows no progress in a pipe', async () => {
    const clock = new ManualClock()
    const { stderr, exit } = start(['keys', '--count', ...url], { clock })
    expect(await exit).toBe(0)
    expect([clock.scheduled, stderr.text]).toEqual([0, ''])
  })

  it('exits with code 1 and a one-line error when the store rejects the glob', async () => {
    const { code, stderr } = await execute(['keys', '*'.repeat(2_000), ...url])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: The state store refused the request: syntax error; [^\n]+\n$/)
  })

  it('exits with code 1 without a broker, and with code 2 for an empty glob or several globs', async () => {
    const { code, stderr } = await execute(['keys', '--url', 'mqtt://127.0.0.1:1', '--timeout', '50'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: cannot reach [^\n]+\n$/)
    expect(await execute(['keys', '', ...url])).toMatchObject({ code: 2, stdout: '' })
    expect(await execute(['keys', 'a', 'b', ...url])).toMatchObject({ code: 2, stdout: '' })
  })

  it('exits without an error when its reader has exited, and requests no further page', async () => {
    const { stdout, exit } = start(['keys', ...url])
    stdout.broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
    expect(await exit).toBe(0)
  })
})
