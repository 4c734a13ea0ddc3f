import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { layLink } from '../support/link.js'
import { listen } from '../support/listen.js'
import { ManualClock } from '../support/manual-clock.js'
import { openConsole, scratch } from './open-console.js'
import { execute, NOW, openStore, start } from './test-io.js'

/** Returns a dump's keys, without its first and last line. */
const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .slice(1, -2)
    .map(line => JSON.parse(line))
/** Returns lines by key, because their order is not defined. */
const byKey = (lines: Iterable<unknown>): Record<string, unknown> =>
  Object.fromEntries(Array.from(lines, line => [String(Object(line).key ?? Object(line).keyBytes), line]))

const TOKEN = '1696374425000:1:lock'
const LINES = [
  { key: 'a\\b', value: 'text' },
  { key: 'expires', value: '', expiresAt: NOW + 365 * 86_400_000_000, fencingToken: TOKEN },
  { keyBytes: '/wA=', bytes: '/g==' },
]

/** Starts a server that is not a console. */
async function impostor(answer: (server: Server) => void): Promise<string> {
  const server = createServer()
  answer(server)
  return `http://127.0.0.1:${await listen(server)}/#token=x`
}

describe('dump', () => {
  it('prints every key with its version, expiry and fencing token through the console', async () => {
    const { store, link } = await openConsole()
    await store.load(LINES)
    const { code, stdout, stderr } = await execute(['dump', '--console', link])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(linesOf(stdout)).toEqual([...store.dump()])
    expect(linesOf(stdout)).toMatchObject(LINES)
  })

  it('uses the console of the environment', async () => {
    const { store, link } = await openConsole()
    await store.load(LINES)
    const { code, stdout } = await execute(['dump'], { env: { RX_STATESTORE_CONSOLE: link } })
    expect([code, linesOf(stdout)]).toEqual([0, [...store.dump()]])
  })

  it('--partial prints values and versions of any store and warns about missing details', async () => {
    const store = await openStore()
    await store.load(LINES)
    const { code, stdout, stderr } = await execute(['dump', '--partial', '--url', store.url])
    expect([code, stderr]).toEqual([
      0,
      'partial dump: no expiry, no fencing tokens, only readable keys, and not a consistent snapshot\n',
    ])
    const expected = [...store.dump()].map(({ expiresAt: _, fencingToken: __, ...line }) => line)
    expect(byKey(linesOf(stdout))).toEqual(byKey(expected))
  })

  it('prefers the store of --url to the console of the environment', async () => {
    const [{ link }, other] = [await openConsole(), await openStore()]
    await other.load([{ key: 'other', value: '' }])
    const { stdout } = await execute(['dump', '--partial', '--url', other.url], {
      env: { RX_STATESTORE_CONSOLE: link },
    })
    expect(linesOf(stdout)).toMatchObject([{ key: 'other' }])
  })

  it('dumps thousands of keys, through the console and through the broker', { tags: 'slow' }, async () => {
    const { store, link } = await openConsole()
    await store.load(Array.from({ length: 5_000 }, (_, at) => ({ key: `key/${at}`, value: 'x'.repeat(100) })))
    expect(linesOf((await execute(['dump', '--console', link])).stdout)).toHaveLength(5_000)
    expect(byKey(linesOf((await execute(['dump', '--partial', '--url', store.url])).stdout))).toEqual(
      byKey(store.dump()),
    )
  })

  it('prints only the first and last line for an empty store', async () => {
    const { store, link } = await openConsole()
    const stdout = '{"dump":1}\n{"end":{"keys":0,"crc32":"00000000"}}\n'
    expect(await execute(['dump', '--console', link])).toMatchObject({ code: 0, stdout })
    expect(await execute(['dump', '--partial', '--url', store.url])).toMatchObject({ code: 0, stdout })
  })

  it('writes a file, and prints the number of keys', async () => {
    const { store, link } = await openConsole()
    await store.load(LINES)
    const file = await scratch('keys.ndjson')
    expect(await execute(['dump', '--console', link, '--file', file])).toMatchObject({ code: 0, stdout: '3 keys\n' })
    expect(linesOf(await readFile(file, 'utf8'))).toEqual([...store.dump()])
    const json = ['dump', '--partial', '--url', store.url, '--file', file, '--json']
    expect(await execute(json)).toMatchObject({ code: 0, stdout: '{"keys":3}\n' })
    expect(await readdir(dirname(file))).toEqual(['keys.ndjson'])
    const { stdout } = await execute(['dump', '--console', link, '--file', '-'])
    expect(linesOf(stdout)).toEqual([...store.dump()])
  })

  it('new files are readable only by the owner, and replaced files keep their permissions', async () => {
    const { store, link } = await openConsole()
    await store.load(LINES)
    const [fresh, shared] = [await scratch('fresh.ndjson'), await scratch('shared.ndjson')]
    await writeFile(shared, 'old')
    await chmod(shared, 0o640)
    await writeFile(`${shared}.part`, 'mine')
    for (const file of [fresh, shared]) await execute(['dump', '--console', link, '--file', file])
    const modes = await Promise.all([fresh, shared].map(async file => (await lstat(file)).mode & 0o777))
    expect(modes).toEqual([0o600, 0o640])
    expect(await readFile(`${shared}.part`, 'utf8')).toBe('mine')
  })

  it('keeps the existing file when the dump fails', async () => {
    const file = await scratch('keys.ndjson')
    await writeFile(file, 'good')
    const link = await impostor(server =>
      server.on('request', (_, response) => {
        response.writeHead(200).write('{"dump":1}\n{"key":"a","value":""}\n{"key":"b","va', () => response.destroy())
      }),
    )
    const { code, stdout, stderr } = await execute(['dump', '--console', link, '--file', file])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toBe('rx-statestore: the dump is incomplete, it ended after 1 key: aborted\n')
    expect(await readFile(file, 'utf8')).toBe('good')
    expect(await readdir(dirname(file))).toEqual(['keys.ndjson'])
  })

  it('writes through links and to devices', async () => {
    const { store, link } = await openConsole()
    await store.load(LINES)
    const file = await scratch('keys.ndjson')
    await symlink(file, `${file}.link`)
    expect(await execute(['dump', '--console', link, '--file', `${file}.link`])).toMatchObject({ code: 0 })
    expect(linesOf(await readFile(file, 'utf8'))).toHaveLength(3)
    expect((await lstat(`${file}.link`)).isSymbolicLink()).toBe(true)
    expect(await execute(['dump', '--console', link, '--file', '/dev/null'])).toMatchObject({ code: 0 })
    expect((await lstat('/dev/null')).isCharacterDevice()).toBe(true)
  })

  it('exits with code 1 and the number of dumped keys when the store stops', async () => {
    const store = await openStore()
    await store.load(Array.from({ length: 3_000 }, (_, at) => ({ key: `key/${at}`, value: '' })))
    const link = await layLink(store.url)
    // A busy machine may take a second for the first response.
    const { stdout, stderr, exit } = start(['dump', '--partial', '--url', link.url, '--timeout', '2000'])
    await stdout.line(/key/)
    link.cut()
    expect(await exit).toBe(1)
    expect(stderr.lines.at(-1)).toMatch(/^rx-statestore: the dump is incomplete, it ended after \d+ keys: /)
  })

  it('exits without an error when its reader has exited', async () => {
    const { store, link } = await openConsole()
    await store.load(LINES)
    const { stdout, stderr, exit } = start(['dump', '--console', link])
    stdout.broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
    expect([await exit, stderr.text]).toEqual([0, ''])
  })

  it('shows progress on a terminal', async () => {
    const store = await openStore()
    const link = await layLink(store.url)
    link.cut()
    const clock = new ManualClock()
    const file = await scratch('keys.ndjson')
    const { stderr, exit } = start(['dump', '--partial', '--url', link.url, '--file', file], { columns: 80, clock })
    await stderr.line(/^partial dump/)
    clock.advance(1_000)
    expect(stderr.text).toContain('0 keys')
    link.restore()
    expect(await exit).toBe(0)
  })

  it.each([
    [
      'a wrong token',
      (link: string) => `${link.slice(0, -1)}`,
      /^rx-statestore: The token is missing or wrong; [^\n]+\n$/,
    ],
    [
      'nobody there',
      () => 'http://127.0.0.1:1/#token=x',
      /^rx-statestore: cannot reach the console at http:\/\/127\.0\.0\.1:1: [^\n]+\n$/,
    ],
  ])('exits with code 1 and one line for %s', async (_, address, words) => {
    const { link } = await openConsole()
    const { code, stdout, stderr } = await execute(['dump', '--console', address(link)])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(words)
  })

  it('exits with code 1 and one line for another HTTP server', async () => {
    const link = await impostor(server =>
      server.on('request', (_, response) => void response.writeHead(418).end('teapot')),
    )
    const { code, stderr } = await execute(['dump', '--console', link])
    expect([code, stderr]).toEqual([1, "rx-statestore: the console responded 418 I'm a Teapot\n"])
  })

  it('exits with code 1 for an unreachable store, and creates no file', async () => {
    const file = await scratch('keys.ndjson')
    const { code, stderr } = await execute([
      'dump',
      '--partial',
      '--url',
      'mqtt://127.0.0.1:1',
      '--timeout',
      '50',
      '--file',
      file,
    ])
    expect(code).toBe(1)
    expect(stderr).toMatch(/\nrx-statestore: cannot reach mqtt:[^\n]+\n$/)
    expect(await readdir(dirname(file))).toEqual([])
  })

  it.each([
    ['an address without a token', ['--console', 'http://127.0.0.1:8080/']],
    ['an address that is not a URL', ['--console', 'here']],
    ['an address with another scheme', ['--console', 'mqtt://127.0.0.1/#token=x']],
    ['both a console and a store', ['--console', 'http://127.0.0.1:1/#token=x', '--url', 'mqtt://127.0.0.1:1']],
    ['a broker without --partial, because a broker provides only part of a dump', ['--url', 'mqtt://127.0.0.1:1']],
    ['a broker of the environment without --partial', []],
    ['a token file that does not exist', ['--console', 'http://127.0.0.1:1', '--console-token-file', '/nowhere']],
    ['a token file without a console', ['--partial', '--console-token-file', '/nowhere']],
    ['an argument', ['keys.ndjson']],
    [
      'an output file that cannot be created',
      ['--file', '/nowhere/at/all', '--console', 'http://127.0.0.1:1/#token=x'],
    ],
  ])('exits with code 2 for %s', async (_, args) => {
    const { code, stderr } = await execute(['dump', ...args])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore dump --help\n$/)
    expect(stderr).not.toContain('token=x')
  })

  it('exits with code 2 for a folder as output and for an invalid environment variable', async () => {
    const folder = await scratch('folder')
    await mkdir(folder)
    expect(await execute(['dump', '--console', 'http://127.0.0.1:1/#token=x', '--file', folder])).toMatchObject({
      code: 2,
    })
    const { code, stderr } = await execute(['dump'], { env: { RX_STATESTORE_CONSOLE: 'http://127.0.0.1:1' } })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: RX_STATESTORE_CONSOLE must be [^\n]+\n$/)
  })
})
