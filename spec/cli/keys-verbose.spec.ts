import { beforeEach, describe, expect, it } from 'vitest'
import type { StoreServer } from '../../src/server/index.js'
import { openConsole } from './open-console.js'
import { execute, NOW, VERSION } from './test-io.js'

const LONG = `{"name":"${'pump '.repeat(100)}"}`
const sorted = (text: string): string[] => text.split('\n').slice(0, -1).sort()

describe('keys -v', () => {
  let store: StoreServer
  let url: readonly string[]
  let asked: readonly string[]

  beforeEach(async () => {
    const opened = await openConsole()
    store = opened.store
    url = ['--url', store.url]
    asked = ['--console', opened.link]
    await store.load([
      { key: 'a b', value: LONG },
      { key: 'line', value: 'on', expiresAt: Date.now() + 86_400_000 },
    ])
  })

  const versionOf = (key: string): string => store.peek(key)?.version ?? ''
  const expiryOf = (key: string): number => store.peek(key)?.expiresAt ?? 0

  it('a pipe gets tab-separated values and versions, with a warning that expiry is missing', async () => {
    const { code, stdout, stderr } = await execute(['keys', '-v', ...url])
    expect(code).toBe(0)
    expect(sorted(stdout)).toEqual([`a b\t${LONG}\t${versionOf('a b')}`, `line\ton\t${versionOf('line')}`])
    expect(stderr).toBe('without --console, the expiry of keys is not available\n')
  })

  it('prints the expiry with --console, and uses the broker that the console reports', async () => {
    const { code, stdout, stderr } = await execute(['keys', '-v', ...asked])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const expiry = new Date(expiryOf('line')).toISOString()
    expect(sorted(stdout)).toEqual([
      `a b\t${LONG}\t${versionOf('a b')}\t-`,
      `line\ton\t${versionOf('line')}\t${expiry}`,
    ])
  })

  it('uses the console and the broker of the environment', async () => {
    const env = { RX_STATESTORE_CONSOLE: asked[1], RX_STATESTORE_URL: store.wsUrl }
    expect((await execute(['keys', 'line', '-v', '--json'], { env })).stdout).toContain(`${expiryOf('line')}`)
  })

  it('prints objects with --json', async () => {
    const { stdout } = await execute(['keys', '-v', '--json', ...asked])
    expect(sorted(stdout).map(line => JSON.parse(line))).toEqual([
      { key: 'a b', value: LONG, version: expect.stringMatching(VERSION) },
      { key: 'line', value: 'on', version: versionOf('line'), expiresAt: expiryOf('line') },
    ])
    const { stdout: hex } = await execute(['keys', 'line', '-v', '--json', '--hex', ...asked])
    expect(JSON.parse(hex)).toMatchObject({ key: 'line', valueHex: '6F6E' })
  })

  it.each([3_650.1, 3_650.9, 10_000.9])('fits into the terminal when a key expires in %d days', async days => {
    const expiresAt = NOW + days * 86_400_000
    await store.load([
      { key: 'a b', value: LONG, expiresAt },
      { key: 'line', value: 'on', expiresAt },
    ])
    const { stdout } = await execute(['keys', '-v', ...asked], { columns: 120, env: { NO_COLOR: '1' } })
    for (const line of sorted(stdout)) expect(line.length).toBeLessThanOrEqual(120)
  })

  it.each([
    [120, /^line {3}on +\S+( \S+)? +\d+:\d+:StateStore$/],
    [60, /^line {3}on +\S+( \S+)?$/],
    [30, /^line {3}on$/],
  ])('shows values rather than versions in a terminal of %i columns', async (columns, pattern) => {
    const { stdout } = await execute(['keys', '-v', ...asked], { columns, env: { NO_COLOR: '1' } })
    const [, long = '', short = ''] = stdout.split('\n')
    expect(long).toMatch(/^'a b' {2}\{"name":"pump p.*… 511 B/)
    expect(short).toMatch(pattern)
    for (const line of [long, short]) expect(line.length).toBeLessThanOrEqual(columns)
  })

  it('shows the time until expiry in a column', async () => {
    await store.load([{ key: 'line', value: 'on', expiresAt: NOW + 90_000 + 10 * 365 * 86_400_000 }])
    const { stdout } = await execute(['keys', 'line', '-v', ...asked], { columns: 120, env: { NO_COLOR: '1' } })
    expect(stdout).toMatch(/^KEY {3}VALUE {2}EXPIRES {2}VERSION\nline {2}on {5}3650d /)
  })

  it('prints thousands of keys in batches', { tags: 'slow' }, async () => {
    const lines = Array.from({ length: 1_000 }, (_, index) => ({ key: `many/${index}`, value: `${index}` }))
    await store.load(lines)
    const { stdout } = await execute(['keys', 'many/*', '-v', ...asked])
    expect(sorted(stdout).map(line => line.split('\t').slice(0, 2))).toEqual(
      lines.map(({ key, value }) => [key, value]).sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    )
  })

  it('exits with code 1 when the console is unreachable', async () => {
    const { code, stderr } = await execute(['keys', '-v', '--console', 'http://127.0.0.1:1/#token=x'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: cannot reach the console at http:\/\/127\.0\.0\.1:1: /)
  })

  it('prints only the number of keys with --count', async () => {
    expect(await execute(['keys', '-v', '--count', ...url])).toMatchObject({ stdout: '2\n', stderr: '' })
  })
})
