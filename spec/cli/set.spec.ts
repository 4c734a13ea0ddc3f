import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { StoreServer } from '../../src/server/index.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { execute, jsonOf, NOW, type Outcome, openStore, start, type TestWorld, VERSION } from './test-io.js'

describe('set', () => {
  let store: StoreServer

  beforeEach(async () => {
    store = await openStore()
  })

  const cli = async (args: readonly string[], world?: TestWorld): Promise<Outcome> =>
    execute([...args, '--url', store.url], world)
  const stored = async (key: string): Promise<string> => (await cli(['get', key, '--hex'])).stdout.trim()

  it('writes a text and prints its version', async () => {
    const { code, stdout, stderr } = await cli(['set', 'k', 'ä b'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.trim()).toMatch(VERSION)
    expect(await cli(['get', 'k'])).toMatchObject({ stdout: 'ä b' })
  })

  it('accepts an empty value, a negative number, and any value after --', async () => {
    for (const words of [[''], ['-5'], ['--', '--nx']]) {
      expect(await execute(['set', 'k', '--url', store.url, ...words])).toMatchObject({ code: 0 })
      expect(await cli(['get', 'k'])).toMatchObject({ stdout: words.at(-1) })
    }
  })

  it('prints the version that the store returns', async () => {
    const { stdout } = await cli(['set', 'k', 'v'])
    expect(jsonOf((await cli(['get', 'k', '--json'])).stdout)).toMatchObject({ version: stdout.trim() })
  })

  it('prints an object with --json', async () => {
    const { code, stdout } = await cli(['set', 'k', 'v', '--json'])
    expect(code).toBe(0)
    const time = new Date(NOW).toISOString()
    expect(jsonOf(stdout)).toEqual({
      time,
      key: 'k',
      op: 'set',
      applied: true,
      version: expect.stringMatching(VERSION),
    })
  })

  it('accepts a key that is not text in the format of `keys`, like all commands', async () => {
    const word = "$'\\xFF\\x00'"
    expect(await cli(['set', word, 'v', '--json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"keyHex":"FF00"'),
    })
    expect(store.peek(Uint8Array.of(255, 0))?.value).toEqual(Uint8Array.of(118))
    expect(await cli(['get', word])).toMatchObject({ code: 0, stdout: 'v' })
    expect(await cli(['set', word, 'w', '--nx'])).toMatchObject({ code: 3, stderr: expect.stringContaining(word) })
    expect((await cli(['watch', word, '--count', '1'])).stdout).toContain(`  "\\${word}"  set `)
    expect((await cli(['watch', word, '--count', '1', '--json'])).stdout).toContain('"keyHex":"FF00"')
    expect(await cli(['vdel', word, 'w'])).toMatchObject({ code: 3, stderr: expect.stringContaining(word) })
    expect(await cli(['vdel', word, 'v', '--json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"keyHex":"FF00"'),
    })
    expect(await cli(['del', word])).toMatchObject({ code: 3, stderr: expect.stringContaining(word) })
    expect(store.stats.keys).toBe(0)
  })

  it('reads Base16 with --hex', async () => {
    expect(await cli(['set', 'k', '00fF80', '--hex'])).toMatchObject({ code: 0 })
    expect(await stored('k')).toBe('00FF80')
  })

  it('reads the exact bytes of standard input if the value is -', async () => {
    expect(await cli(['set', 'k', '-'], { stdin: Uint8Array.of(128, 10) })).toMatchObject({ code: 0 })
    expect(await stored('k')).toBe('800A')
    expect(await cli(['set', 'k', '-', '--hex'], { stdin: '2D\n' })).toMatchObject({ code: 0 })
    expect(await cli(['get', 'k'])).toMatchObject({ stdout: '-' })
    expect(await cli(['vdel', 'k', '-'], { stdin: '-' })).toMatchObject({ code: 0 })
  })

  it('reads the value from a file or from standard input', async () => {
    const file = join(temporaryFolder(), 'value')
    await writeFile(file, Uint8Array.of(0, 255, 10))
    expect(await cli(['set', 'k', '--file', file])).toMatchObject({ code: 0 })
    expect(await stored('k')).toBe('00FF0A')
    expect(await cli(['set', 'k', '-f', '-'], { stdin: Uint8Array.of(128, 10) })).toMatchObject({ code: 0 })
    expect(await stored('k')).toBe('800A')
    expect(await cli(['set', 'k', '-f', '-', '--hex'], { stdin: '01 02\n03\n' })).toMatchObject({ code: 0 })
    expect(await stored('k')).toBe('010203')
  })

  it.each([
    ['no value', ['set', 'k'], /missing VALUE; use - for standard input, or --file/],
    ['two values', ['set', 'k', 'v', '--file', '-'], /VALUE and --file cannot be combined/],
    ['a file that does not exist', ['set', 'k', '--file', '/nowhere/at/all'], /cannot read the value: ENOENT/],
    ['half a byte', ['set', 'k', '012', '--hex'], /with --hex the value must be Base16, such as 00FF/],
    ['no Base16', ['set', 'k', 'xy', '--hex'], /with --hex the value must be Base16/],
    ['an empty key', ['set', '', 'v'], /Expected the key to have at least one byte/],
    [
      'a negative --px',
      ['set', 'k', 'v', '--px', '-1'],
      /--px <time>' argument '-1' is invalid. Expected a time, such as 500ms, 10s, 1h30m/,
    ],
    ['a --px of zero', ['set', 'k', 'v', '--px', '0'], /Expected a time/],
    ['a --px with an unknown unit', ['set', 'k', 'v', '--px', '1y'], /Expected a time/],
    ['a malformed --ft', ['set', 'k', 'v', '--ft', '17:x'], /Expected a version such as 1696374425000:1:StateStore/],
    ['two conditions', ['set', 'k', 'v', '--nx', '--nex'], /'--nx' cannot be used with option '--nex'/],
  ])('exits with code 2 and one line for %s', async (_, args, words) => {
    const { code, stdout, stderr } = await cli(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(words)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore set --help\n$/)
  })

  it('rejects a binary file if --hex expects Base16', async () => {
    expect(await cli(['set', 'k', '-f', '-', '--hex'], { stdin: Uint8Array.of(255) })).toMatchObject({ code: 2 })
  })

  it('exits with code 3 with --nx when the key exists', async () => {
    expect(await cli(['set', 'k', 'v', '--nx'])).toMatchObject({ code: 0 })
    const { code, stdout, stderr } = await cli(['set', 'k', 'v', '--nx'])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(/^rx-statestore: not written: k exists, version \d+:\d+:StateStore\n$/)
  })

  it('exits with code 3 with --nex when the key has another value', async () => {
    expect(await cli(['set', 'lock', 'me', '--nex'])).toMatchObject({ code: 0 })
    expect(await cli(['set', 'lock', 'me', '--nex'])).toMatchObject({ code: 0 })
    const { code, stderr } = await cli(['set', 'lock', 'you', '--nex'])
    expect(code).toBe(3)
    expect(stderr).toMatch(/^rx-statestore: not written: lock holds another value, version \d+:\d+:StateStore\n$/)
  })

  it('prints an object with the current version with --json when the condition does not hold', async () => {
    const { stdout: version } = await cli(['set', 'k', 'v'])
    const { code, stdout, stderr } = await cli(['set', 'k', 'w', '--nx', '--json'])
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(jsonOf(stdout)).toMatchObject({ key: 'k', op: 'set', applied: false, version: version.trim() })
  })

  it('uses the version of a lock as fencing token', async () => {
    const { stdout } = await cli(['set', 'lock', 'me', '--nex', '--px', '60000'])
    expect(await cli(['set', 'line', 'on', '--ft', stdout.trim()])).toMatchObject({ code: 0 })
    const { code, stderr } = await cli(['set', 'line', 'off'])
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^rx-statestore: The state store refused .* a fencing token is required for this request; see \S+#fencing-token-required\n$/,
    )
  })

  it.each([
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['60000', 60_000],
  ])('accepts a time to live of %s', async (time, ms) => {
    const before = Date.now()
    await cli(['set', 'k', 'v', '--px', time])
    const expiresIn = (store.peek('k')?.expiresAt ?? 0) - before
    expect(expiresIn).toBeGreaterThanOrEqual(ms)
    expect(expiresIn).toBeLessThanOrEqual(ms + Date.now() - before)
  })

  it('gives the key a time to live with --px', async () => {
    const watch = start(['watch', 'k', '--url', store.url])
    await watch.stdout.line(/absent/)
    expect(await cli(['set', 'k', 'v', '--px', '20', '--persist'])).toMatchObject({ code: 0 })
    await watch.stdout.line(/ set /)
    await watch.stdout.line(/ expired /)
  })
})
