import { describe, expect, it } from 'vitest'
import { freePort } from '../../harness/free-port.js'
import { utf8 } from '../../src/core/util/bytes.js'
import { openBroker } from '../support/open-broker.js'
import { execute, jsonOf, NOW, openStore, start, VERSION } from './test-io.js'

describe('watch', () => {
  it('prints the values of the keys, and then one line per change', async () => {
    const { url } = await openStore()
    await execute(['set', 'a', '1', '--url', url])
    const { stdout, stderr, exit, interrupt } = start(['watch', 'a', 'b\\c', '--url', url])
    expect(await stdout.line(/^12:15:16\.017 {2}a {6}set {6}\d+:\d+:StateStore {2}1 +snapshot$/)).toBeTruthy()
    await stdout.line(/ 'b\\c' {2}absent {3}- +- +snapshot$/)
    await execute(['set', 'a', '2', '--url', url])
    await stdout.line(/ a {6}set {6}\d+:\d+:StateStore {2}2 +notification$/)
    await execute(['del', 'a', '--url', url])
    await stdout.line(/ a {6}delete {3}\d+:\d+:StateStore {2}- +notification$/)
    await execute(['set', 'a', '3', '--px', '20ms', '--url', url])
    await stdout.line(/ a {6}expired {2}\d+:\d+:StateStore {2}- +notification$/)
    interrupt()
    expect(await exit).toBe(0)
    expect(stdout.lines).toHaveLength(6)
    expect(stderr.lines).toEqual([`12:15:16.017  connected to ${url}`, '12:15:16.017  watching 2 keys'])
  })

  it('ends its registrations and its connection when interrupted', async () => {
    const store = await openStore()
    const { stdout, exit, interrupt } = start(['watch', 'a', 'a', 'b', '--url', store.url, '--client-id', 'me'])
    await stdout.line(/ a /)
    await stdout.line(/ b /)
    expect(store.stats.watches).toBe(2)
    expect(store.clientIds).toEqual(['me'])
    interrupt()
    expect(await exit).toBe(0)
    expect(store.stats).toMatchObject({ watches: 0, connections: 0 })
  })

  it('watches all keys that match a glob, including keys created later', async () => {
    const store = await openStore()
    const { url } = store
    for (const key of ['sensor/1', 'other']) await execute(['set', key, 'v', '--url', url])
    const { stdout, stderr, exit, interrupt } = start(['watch', 'sensor/*', '--url', url])
    await stdout.line(/ sensor\/1 +set +\d.* v +snapshot$/)
    await stderr.line(/ watching all keys that match 'sensor\/\*'$/)
    await execute(['set', 'sensor/2', 'w', '--url', url])
    await stdout.line(/ sensor\/2 +set +\d.* w +notification$/)
    await execute(['del', 'sensor/1', '--url', url])
    await stdout.line(/ sensor\/1 +delete +\d/)
    interrupt()
    expect(await exit).toBe(0)
    expect(stdout.lines).toHaveLength(3)
    expect(store.stats).toMatchObject({ watches: 0, connections: 0 })
  })

  it('watches globs and keys together', async () => {
    const { url } = await openStore()
    for (const key of ['a/1', 'line-1']) await execute(['set', key, 'v', '--url', url])
    const { stdout, stderr } = start(['watch', 'a/[0-9]', 'line-?', 'b', 'c', '--url', url])
    const shown = (): string[] => stdout.lines.map(line => line.split(/ +/).slice(1, 3).join(' ')).sort()
    await expect.poll(() => shown()).toEqual(['a/1 set', 'b absent', 'c absent', 'line-1 set'])
    await stderr.line(/ watching 2 keys and all keys that match 'a\/\[0-9\]' or 'line-\?'$/)
  })

  it('fails when more keys match than --max-keys', async () => {
    const { url } = await openStore()
    for (const key of ['a/1', 'a/2']) await execute(['set', key, 'v', '--url', url])
    const { code, stderr } = await execute(['watch', 'a/*', '--max-keys', '1', '--url', url])
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('More than 1 keys match a/*')])
    expect(code).not.toBe(0)
  })

  it('watches a key that contains an asterisk with --literal', async () => {
    const store = await openStore()
    const { stdout } = start(['watch', '*', '--literal', '--url', store.url])
    await stdout.line(/ '\*' {2}absent/)
    expect(Array.from(store.watchedBy(store.clientIds[0] ?? ''))).toEqual([utf8('*')])
  })

  it('watches keys that it reads from standard input', async () => {
    const { url } = await openStore()
    for (const key of ['s/1', 's/2', 'other']) await execute(['set', key, 'v', '--url', url])
    const { stdout: stdin } = await execute(['keys', 's/*', '--url', url])
    const { stdout, exit } = start(['watch', '-', '--count', '2', '--url', url], { stdin })
    expect(await exit).toBe(0)
    expect(stdout.lines.map(line => line.split(/ +/)[1]).sort()).toEqual(['s/1', 's/2'])
  })

  it('exits after --count lines', async () => {
    const { url } = await openStore()
    const { stdout, exit } = start(['watch', 'a', '--count', '2', '--url', url])
    await stdout.line(/absent/)
    await execute(['set', 'a', '1', '--url', url])
    expect(await exit).toBe(0)
    expect(stdout.lines).toHaveLength(2)
  })

  it('prints an object per line with --json, and never shortens values', async () => {
    const { url } = await openStore()
    const long = 'x'.repeat(1000)
    await execute(['set', 'a', long, '--url', url])
    const { stdout, exit } = start(['watch', 'a', '--count', '3', '--json', '--url', url], { columns: 80 })
    const time = new Date(NOW).toISOString()
    const version = expect.stringMatching(VERSION)
    expect(jsonOf(await stdout.line(/./))).toEqual({
      time,
      key: 'a',
      op: 'set',
      version,
      value: long,
      source: 'snapshot',
    })
    await execute(['set', 'a', '00ff', '--hex', '--url', url])
    expect(jsonOf(await stdout.line(/./))).toMatchObject({ valueHex: '00FF', source: 'notification' })
    await execute(['del', 'a', '--url', url])
    expect(jsonOf(await stdout.line(/./))).toEqual({
      time,
      key: 'a',
      op: 'delete',
      reason: 'deleted',
      version,
      source: 'notification',
    })
    expect(await exit).toBe(0)
  })

  it('prints values in Base16 with --hex', async () => {
    const { url } = await openStore()
    await execute(['set', 'a', 'AB', '--url', url])
    const { stdout } = start(['watch', 'a', '--count', '1', '--hex', '--url', url])
    await stdout.line(/ 0x4142 /)
  })

  it('uses colours only on a terminal', async () => {
    const { url } = await openStore()
    const terminal = start(['watch', 'a', '--count', '1', '--url', url], { columns: 100 })
    expect(await terminal.exit).toBe(0)
    expect(terminal.stdout.text).toContain('\u001b[')
    const plain = start(['watch', 'a', '--count', '1', '--url', url], { columns: 100, env: { NO_COLOR: '1' } })
    expect(await plain.exit).toBe(0)
    expect(plain.stdout.text).not.toContain('\u001b[')
  })

  it('survives a restart of the store on the same port, and resynchronises', async () => {
    const port = await freePort()
    const first = await openStore({ port })
    await execute(['set', 'a', 'old', '--url', first.url])
    const { stdout, stderr, exit, interrupt } = start(['watch', 'a', '--url', first.url])
    await stdout.line(/ old +snapshot$/)
    await first.close()
    await stderr.line(/connection lost: /)
    await stderr.line(/cannot reach .*, still trying: .*ECONNREFUSED/)
    const second = await openStore({ port })
    await stderr.line(/connected to .* again$/)
    await stdout.line(/absent {3}- +- +resync$/)
    await stderr.line(/resynchronised the key$/)
    await execute(['set', 'a', 'new', '--url', second.url])
    await stdout.line(/ new +notification$/)
    interrupt()
    expect(await exit).toBe(0)
  })

  it('waits for a store that is unavailable at first, and reports the failure once', async () => {
    const port = await freePort()
    const { stdout, stderr } = start(['watch', 'a', '--url', `mqtt://127.0.0.1:${port}`])
    await stderr.line(/cannot reach mqtt:\/\/127\.0\.0\.1:\d+, still trying: .*ECONNREFUSED/)
    const store = await openStore({ port })
    await stderr.line(/connected to/)
    await stdout.line(/absent/)
    expect(store.stats.watches).toBe(1)
    expect(stderr.lines.filter(line => line.includes('still trying'))).toHaveLength(1)
  })

  it('reports a broker that has no state store', async () => {
    const { port } = await openBroker()
    const { stderr, exit, interrupt } = start(['watch', 'a', '--timeout', '50', '--url', `mqtt://127.0.0.1:${port}`])
    await stderr.line(/connected to/)
    await stderr.line(/no state store answers there, still trying$/)
    interrupt()
    expect(await exit).toBe(0)
  })

  it('can be interrupted while the store is down', async () => {
    const port = await freePort()
    const { stderr, exit, interrupt } = start(['watch', 'a', '--url', `mqtt://127.0.0.1:${port}`])
    await stderr.line(/still trying/)
    interrupt()
    expect(await exit).toBe(0)
  })

  it('exits with code 1 when another client takes over its id', async () => {
    const { url } = await openStore()
    const { stdout, stderr, exit } = start(['watch', 'a', '--client-id', 'me', '--url', url])
    await stdout.line(/absent/)
    await execute(['get', 'a', '--client-id', 'me', '--url', url])
    expect(await exit).toBe(1)
    await stderr.line(/^rx-statestore: mqtt:\/\/127.0.0.1:\d+: .*another client took over the id/)
  })

  it('exits without an error when the reader of its output has exited', async () => {
    const store = await openStore()
    const { stdout, stderr, exit } = start(['watch', 'a', '--url', store.url])
    await stdout.line(/absent/)
    stdout.broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
    await execute(['set', 'a', '1', '--url', store.url])
    expect(await exit).toBe(0)
    expect(stderr.text).not.toContain('EPIPE')
    expect(store.stats.connections).toBe(0)
  })

  it('exits with code 1 when its output cannot be written', async () => {
    const { url } = await openStore()
    const { stdout, stderr, exit } = start(['watch', 'a', '--url', url])
    stdout.broken = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    expect(await exit).toBe(1)
    await stderr.line(/^rx-statestore: ENOSPC: no space left on device, write$/)
  })

  it.each([
    ['no key', ['watch']],
    ['an empty key', ['watch', 'a', '']],
    ['a --count of zero', ['watch', 'a', '--count', '0']],
  ])('exits with code 2 for %s', async (_, args) => {
    const { code, stderr } = await execute(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore watch --help\n$/)
  })
})
