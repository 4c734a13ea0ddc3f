import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { DumpLine } from '../../src/server/index.js'
import { layLink } from '../support/link.js'
import { listen } from '../support/listen.js'
import { openConsole, scratch } from './open-console.js'
import { execute, NOW, openStore, start } from './test-io.js'

const ndjson = (lines: readonly object[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('')
const many = (count: number) => Array.from({ length: count }, (_, at) => ({ key: `key/${at}`, value: String(at) }))
/** Returns lines by key, because their order is not defined. */
const byKey = (lines: Iterable<DumpLine>): Record<string, DumpLine> =>
  Object.fromEntries(Array.from(lines, line => [line.key ?? `${line.keyBytes}`, line]))

/** A time that is far from now and from the printed time. */
const LATER = Date.now() + 86_400_000

describe('load', () => {
  const LINES = [
    { key: 'a\\b', value: 'text', version: '1696374425000:1:StateStore' },
    { key: 'expires', value: '', version: '1696374425000:2:StateStore', expiresAt: LATER },
    { keyBytes: '/wA=', bytes: '/g==', version: '1696374425000:0:S', fencingToken: '5:0:lock' },
  ]
  const OVER = { key: 'over', value: '', expiresAt: 17 }

  it('--help has examples that dump runs', async () => {
    const { stdout } = await execute(['load', '--help'])
    const [, args = ''] = /rx-statestore (dump .*?) \|/.exec(stdout) ?? []
    const { code } = await execute(
      args.replace('mqtt://old', 'mqtt://127.0.0.1:1').concat(' --timeout 50ms').split(' '),
    )
    expect(code).toBe(1)
  })

  it('restores a dump through the console', async () => {
    const { store, link } = await openConsole()
    const stdin = ndjson([...LINES, OVER])
    const { code, stdout, stderr } = await execute(['load', '--console', link], { stdin })
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '3 keys loaded, 3 kept the version of the dump; 1 skipped as expired\n',
      stderr: '',
    })
    expect(byKey(store.dump())).toEqual(byKey(LINES))
  })

  it('reports an unknown outcome if the console receives the dump but does not respond', async () => {
    const server = createServer(request => request.resume().once('end', () => request.socket.destroy()))
    const link = `http://127.0.0.1:${await listen(server)}/#token=x`
    const { code, stderr } = await execute(['load', '--console', link], { stdin: ndjson(LINES) })
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/did not respond, so whether it carried out.* is unknown/),
    ])
  })

  it('--replace deletes the keys that are not in the dump, through the console', async () => {
    const { store, link } = await openConsole()
    await store.load([...LINES, { key: 'other', value: '' }])
    const { code, stdout, stderr } = await execute(['load', '--console', link, '--replace'], { stdin: ndjson(LINES) })
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '3 keys loaded, 0 kept the version of the dump; 1 deleted\n',
      stderr: '',
    })
    expect(store.peek('other')).toBeUndefined()
  })

  it('--replace is rejected without --console and --data, and sets no key', async () => {
    const store = await openStore()
    const { code, stderr } = await execute(['load', '--url', store.url, '--replace'], { stdin: ndjson(LINES) })
    expect([code, stderr]).toEqual([2, expect.stringContaining('--replace requires --console or --data')])
    expect(store.stats.keys).toBe(0)
  })

  it('reads a file, finds the console in the environment, and prints an object with --json', async () => {
    const { store, link } = await openConsole()
    const file = await scratch('keys.ndjson')
    await writeFile(file, ndjson(LINES))
    const env = { RX_STATESTORE_CONSOLE: link }
    const answer = { loaded: 3, versionsKept: 3, expired: 0, deleted: 0 }
    expect(await execute(['load', file, '--json'], { env })).toMatchObject({
      code: 0,
      stdout: `${JSON.stringify(answer)}\n`,
    })
    expect(byKey(store.dump())).toEqual(byKey(LINES))
    const again = await execute(['load', file], { env })
    expect(again).toMatchObject({ code: 0, stdout: '3 keys loaded, 0 kept the version of the dump\n' })
  })

  it('copies a store through the console or the broker with dump and load', async () => {
    const [from, to] = [await openConsole(), await openConsole()]
    await from.store.load([...LINES, ...many(2_000)])
    const { stdout: dump } = await execute(['dump', '--console', from.link])
    expect(await execute(['load', '--console', to.link], { stdin: dump })).toMatchObject({ code: 0 })
    expect(byKey(to.store.dump())).toEqual(byKey(from.store.dump()))
    const other = await openStore()
    expect(await execute(['load', '--url', other.url], { stdin: dump })).toMatchObject({ code: 0 })
    const values = ({ store }: { readonly store: typeof other }) =>
      byKey(Array.from(store.dump(), ({ version: _, expiresAt: __, ...line }) => line))
    expect(values({ store: other })).toEqual(values(from))
  })

  it('sets keys with expiry and fencing token in any store, and warns about new versions', async () => {
    const store = await openStore()
    const stdin = ndjson([...LINES, OVER, { key: 'soon', value: '', expiresAt: NOW + 60_000 }])
    const { code, stdout, stderr } = await execute(['load', '--url', store.url], { stdin })
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '4 keys loaded; 1 skipped as expired\n',
      stderr: 'without --console, keys get new versions\n',
    })
    expect(store.peek(Uint8Array.of(0xff, 0))).toMatchObject({ fencingToken: '5:0:lock', value: Uint8Array.of(0xfe) })
    const left = (store.peek('soon')?.expiresAt ?? 0) - Date.now()
    expect(left > 0 && left <= 60_000).toBe(true)
    expect(store.peek('a\\b')?.version).not.toBe('1696374425000:1:StateStore')
  })

  it('uses the last line of a repeated key, through console and broker', async () => {
    const { store, link } = await openConsole()
    const stdin = ndjson([...many(300), ...many(300).map(({ key }) => ({ key, value: 'later' }))])
    for (const args of [
      ['--console', link],
      ['--url', store.url],
    ]) {
      expect(await execute(['load', ...args], { stdin })).toMatchObject({ code: 0 })
      expect(new Set([...store.dump()].map(({ value }) => value))).toEqual(new Set(['later']))
      await store.load([], { replace: true })
    }
  })

  it('loads the dump of an empty store, and rejects an empty input', async () => {
    const { store, link } = await openConsole()
    const { stdout: stdin } = await execute(['dump', '--console', link])
    const stdout = '0 keys loaded, 0 kept the version of the dump\n'
    expect(await execute(['load', '--console', link], { stdin })).toMatchObject({ code: 0, stdout })
    expect(await execute(['load', '--url', store.url], { stdin })).toMatchObject({ code: 0, stdout: '0 keys loaded\n' })
    for (const args of [
      ['--console', link],
      ['--url', store.url],
    ]) {
      for (const empty of ['', '\n\n']) {
        const { code, stderr } = await execute(['load', ...args], { stdin: empty })
        expect(code).not.toBe(0)
        expect(stderr).toMatch(/the input is empty: even an empty dump has a first line; nothing was loaded\n$/)
      }
    }
  })

  it.each([
    ['no JSON', '{"key":', 'it is not valid JSON'],
    ['a truncated line', '{"key":"k","value":"v', 'it is not valid JSON'],
    ['no value', '{"key":"k"}', 'it needs either `value` or `bytes`'],
    ['an unknown member', '{"key":"k","value":"v","px":5}', 'it has an unknown member "px"'],
  ])('reports the number of the invalid line and the number of loaded keys: %s', async (_, bad, words) => {
    const { store, link } = await openConsole()
    const before = ndjson(many(1_000))
    const whole = await execute(['load', '--console', link], { stdin: `${before}\n${bad}\n${before}` })
    expect(whole).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `rx-statestore: line 1002: ${words}; nothing was loaded\n`,
    })
    expect(store.stats.keys).toBe(0)
    const { code, stderr } = await execute(['load', '--url', store.url], { stdin: `${before}\n${bad}\n` })
    const [, count] = /\nrx-statestore: line 1002: .*; (\d+) keys loaded before\n$/.exec(stderr) ?? []
    expect([code, Number(count)]).toEqual([1, store.stats.keys])
    const first = await execute(['load', '--url', store.url], { stdin: bad })
    expect(first.stderr).toContain(`rx-statestore: line 1: ${words}; nothing was loaded\n`)
  })

  it('rejects a dump that is truncated at a line end, through console and broker', async () => {
    const { store, link } = await openConsole()
    await store.load(many(600))
    const { stdout: dump } = await execute(['dump', '--console', link])
    const lines = dump.split('\n').slice(0, 500)
    await store.load([], { replace: true })
    const stdin = `${lines.join('\n')}\n`
    const words =
      'line 500: the dump is truncated: its last line, with count and checksum, is missing here; save it again'
    const whole = await execute(['load', '--console', link], { stdin })
    expect([whole.code, whole.stderr, store.stats.keys]).toEqual([1, expect.stringContaining(words), 0])
    expect(whole.stderr).toMatch(/; nothing was loaded\n$/)
    const { code, stderr } = await execute(['load', '--url', store.url], { stdin })
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)])
    expect(stderr).toMatch(/; 499 keys loaded before\n$/)
  })

  it('stops sending a large dump when the console rejects it', { tags: 'slow' }, async () => {
    const { store, link } = await openConsole()
    const stdin = `nonsense\n${ndjson(many(300_000))}`
    expect(await execute(['load', '--console', link], { stdin })).toMatchObject({
      code: 1,
      stderr: 'rx-statestore: line 1: it is not valid JSON; nothing was loaded\n',
    })
    const wrong = await execute(['load', '--console', link.slice(0, -1)], { stdin })
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('The token is missing or wrong')])
    expect(store.stats.keys).toBe(0)
  })

  it('reports the number of loaded keys when the store rejects a key or stops', async () => {
    const full = await openStore({ maxKeys: 700 })
    const { code, stderr } = await execute(['load', '--url', full.url], { stdin: ndjson(many(1_000)) })
    const [, count] = /: the quota has been exceeded; (\d+) keys loaded before; see \S+\n$/.exec(stderr) ?? []
    expect(code).toBe(1)
    expect(Number(count)).toBeGreaterThanOrEqual(512)
    expect(Number(count)).toBeLessThanOrEqual(full.stats.keys)
    const store = await openStore()
    const link = await layLink(store.url)
    link.cut()
    const running = start(['load', '--url', link.url, '--timeout', '300'], { stdin: ndjson(many(10)) })
    expect(await running.exit).toBe(1)
    expect(running.stderr.lines.at(-1)).toMatch(/^rx-statestore: .*; nothing was loaded$/)
  })

  it('loads nothing through the console when the keys exceed the limit of the store', async () => {
    const { store, link } = await openConsole({ maxKeys: 2, maxBytes: 1_000_000 })
    const { code, stderr } = await execute(['load', '--console', link], { stdin: ndjson(many(3)) })
    const words = 'Nothing was loaded: the store would exceed its quota of 2 keys or 1000000 bytes'
    expect([code, stderr, store.stats.keys]).toEqual([1, `rx-statestore: ${words}\n`, 0])
  })

  it.each([
    ['a file that does not exist', ['/nowhere/at/all']],
    ['two files', ['a', 'b']],
    ['an address without a token', ['--console', 'http://127.0.0.1:1/']],
  ])('exits with code 2 for %s', async (_, args) => {
    const { code, stderr } = await execute(['load', ...args])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore load --help\n$/)
  })

  it('exits with code 1 for a folder', async () => {
    const { link } = await openConsole()
    const { code, stderr } = await execute(['load', '/', '--console', link])
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^rx-statestore: EISDIR[^\n]*\n$/)])
  })
})
