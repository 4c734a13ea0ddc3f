import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../harness/free-port.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { execute, jsonOf, openStore, start } from './test-io.js'

const ANY_PORT = ['--port', '0', '--ws-port', '0']

async function seedFile(content: string): Promise<string> {
  const file = join(temporaryFolder(), 'seed.json')
  await writeFile(file, content)
  return file
}

describe('serve', () => {
  it('prints its addresses, and stops cleanly when interrupted', async () => {
    const { stdout, stderr, exit, interrupt } = start(['serve', ...ANY_PORT])
    const line = await stdout.line(/^listening on mqtt:\/\/127\.0\.0\.1:\d+ and ws:\/\/127\.0\.0\.1:\d+$/)
    const [, url = '', wsUrl = ''] = /(mqtt:\S+) and (ws:\S+)/.exec(line) ?? []
    expect(await execute(['set', 'k', 'v', '--url', url])).toMatchObject({ code: 0 })
    expect(await execute(['get', 'k', '--url', wsUrl])).toMatchObject({ code: 0, stdout: 'v' })
    interrupt()
    expect(await exit).toBe(0)
    expect(stderr.lines).toEqual(['stopped'])
    expect(await execute(['get', 'k', '--url', url, '--timeout', '100'])).toMatchObject({ code: 1 })
  })

  it('prints a table on a terminal that says that the data is in memory', async () => {
    const { stdout, interrupt, exit } = start(['serve', ...ANY_PORT], { columns: 80, env: { NO_COLOR: '1' } })
    await stdout.line(/Ctrl\+C stops the store/)
    expect(stdout.text).toMatch(
      /^MQTT {5}mqtt:\S+\nBrowser {2}ws:\S+\nConsole {2}off \(serve it with --console\)\nData {5}in memory \(keep it with --data DIR\)\n {9}Ctrl\+C/,
    )
    interrupt()
    expect(await exit).toBe(0)
  })

  it('reports that the clock of the machine was set back, and later that it has caught up', async () => {
    const { now } = Date
    let ahead = 0
    const spy = vi.spyOn(Date, 'now').mockImplementation(() => now() + ahead)
    onTestFinished(() => spy.mockRestore())
    const { stdout, stderr } = start(['serve', ...ANY_PORT])
    const [url = ''] = /mqtt:\S+/.exec(await stdout.line(/^listening/)) ?? []
    const write = async (hoursAhead: number): Promise<void> => {
      ahead = hoursAhead * 3_600_000
      expect(await execute(['set', 'k', 'v', '--url', url])).toMatchObject({ code: 0 })
    }
    for (const hours of [0, 24, 0, 0, 25]) await write(hours)
    expect(stderr.lines).toEqual([
      expect.stringMatching(/^the clock of this machine was set back: it is 86\d{3} s behind the store's time, which /),
      "the clock of this machine has caught up with the store's time",
    ])
  })

  it('prints an object with --json', async () => {
    const { stdout } = start(['serve', ...ANY_PORT, '--json'])
    const expected = { url: expect.stringMatching(/^mqtt:\/\//), wsUrl: expect.stringMatching(/^ws:\/\//), keys: 0 }
    expect(jsonOf(await stdout.line(/./))).toEqual(expected)
  })

  it.each(['127.0.0.1', '0.0.0.0', 'localhost', '::1'])('starts with the keys of a seed from %s', async host => {
    const seed = { 'a\\b': 'text', number: 21.5, object: { x: [null] }, no: false, empty: '' }
    const file = await seedFile(JSON.stringify(seed))
    const { stdout } = start(['serve', ...ANY_PORT, '--host', host, '--allow-anonymous', '--seed', file])
    const line = await stdout.line(/^listening on .*, with 5 initial keys$/)
    const url = (/mqtt:\S+/.exec(line)?.[0] ?? '').replace('0.0.0.0', '127.0.0.1')
    const expected = { 'a\\b': 'text', number: '21.5', object: '{"x":[null]}', no: 'false', empty: '' }
    for (const [key, value] of Object.entries(expected)) {
      expect(await execute(['get', key, '--url', url])).toMatchObject({ code: 0, stdout: value })
    }
  })

  it.each([
    ['is not JSON', '{"a":', /^rx-statestore: the seed .* is not JSON: /],
    ['is an array', '["a"]', /must be a JSON object of values by key/],
    ['is null', 'null', /must be a JSON object of values by key/],
    ['has an empty key', '{"": 1}', /has an empty key/],
  ])('exits with code 2 for a seed that %s', async (_, content, words) => {
    const { code, stdout, stderr } = await execute(['serve', ...ANY_PORT, '--seed', await seedFile(content)])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(words)
    expect(stderr).toMatch(/^[^\n]+; see rx-statestore serve --help\n$/)
  })

  it('exits with code 2 for an unreadable seed', async () => {
    const { code, stderr } = await execute(['serve', ...ANY_PORT, '--seed', '/nowhere/at/all'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: cannot read the seed: ENOENT[^\n]*\n$/)
  })

  it('exits with code 1 when the seed exceeds the limits, and frees its ports', async () => {
    const port = await freePort()
    const flags = [
      '--port',
      String(port),
      '--ws-port',
      '0',
      '--max-keys',
      '1',
      '--seed',
      await seedFile('{"a":1,"b":2}'),
    ]
    const { code, stderr } = await execute(['serve', ...flags])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: Nothing was loaded: the store would exceed its quota of .*\n$/)
    await openStore({ port })
  })

  it('limits its keys with --max-keys', async () => {
    const { stdout } = start(['serve', ...ANY_PORT, '--max-keys', '1'])
    const url = /mqtt:\S+/.exec(await stdout.line(/./))?.[0] ?? ''
    expect(await execute(['set', 'a', '1', '--url', url])).toMatchObject({ code: 0 })
    expect(await execute(['set', 'b', '1', '--url', url])).toMatchObject({ code: 1 })
  })

  it('limits the bytes of its keys with --max-bytes', async () => {
    const { stdout } = start(['serve', ...ANY_PORT, '--max-bytes', '2000'])
    const url = /mqtt:\S+/.exec(await stdout.line(/./))?.[0] ?? ''
    expect(await execute(['set', 'a', 'x'.repeat(1_000), '--url', url])).toMatchObject({ code: 0 })
    expect(await execute(['set', 'b', 'x'.repeat(1_000), '--url', url])).toMatchObject({ code: 1 })
    expect(await execute(['set', 'a', '1', '--url', url])).toMatchObject({ code: 0 })
    expect(await execute(['set', 'b', '1', '--url', url])).toMatchObject({ code: 0 })
  })

  it('uses the dialect of --dialect', async () => {
    const { stdout } = start(['serve', ...ANY_PORT, '--dialect', 'documented'])
    const url = /mqtt:\S+/.exec(await stdout.line(/./))?.[0] ?? ''
    expect(await execute(['set', 'a', '1', '--nx', '--url', url])).toMatchObject({ code: 0 })
    expect(await execute(['set', 'a', '1', '--nx', '--url', url])).toMatchObject({ code: 3 })
  })

  it.each([
    ['--port', '--ws-port'],
    ['--ws-port', '--port'],
  ])('exits with code 1 when %s is in use', async (flag, other) => {
    const port = new URL((await openStore()).url).port
    const { code, stdout, stderr } = await execute(['serve', flag, port, other, '0'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      `rx-statestore: cannot listen: port ${port} is in use (EADDRINUSE); choose another with ${flag}\n`,
    )
  })

  it('exits with code 1 for an address of another machine', async () => {
    const { code, stderr } = await execute(['serve', ...ANY_PORT, '--allow-anonymous', '--host', '192.0.2.1'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: cannot listen: .*EADDRNOTAVAIL.*\n$/m)
  })

  it.each([
    ['a port out of range', ['--port', '65536']],
    ['a port that is not a number', ['--ws-port', 'http']],
    ['an unknown dialect', ['--dialect', 'latin']],
    ['a --max-keys of zero', ['--max-keys', '0']],
    ['a --max-bytes of zero', ['--max-bytes', '0']],
    ['an argument', ['1883']],
    ['a flag of another command', ['--url', 'mqtt://127.0.0.1']],
  ])('exits with code 2 for %s', async (_, args) => {
    const { code, stderr } = await execute(['serve', ...args])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore serve --help\n$/)
  })
})
