import { beforeEach, describe, expect, it } from 'vitest'
import type { StoreServer } from '../../src/server/index.js'
import { execute, jsonOf, NOW, type Outcome, openStore, type TestWorld, VERSION } from './test-io.js'

const time = new Date(NOW).toISOString()

describe('del and vdel', () => {
  let store: StoreServer

  beforeEach(async () => {
    store = await openStore()
  })

  const cli = async (args: readonly string[], world?: TestWorld): Promise<Outcome> =>
    execute([...args, '--url', store.url], world)

  it.each([
    ['del', ['del', 'k']],
    ['vdel', ['vdel', 'k', 'v']],
    ['vdel --hex', ['vdel', 'k', '76', '--hex']],
    ['vdel --file', ['vdel', 'k', '--file', '-']],
  ])('%s deletes the key and prints the version of the deletion', async (_, args) => {
    await cli(['set', 'k', 'v'])
    const { code, stdout, stderr } = await cli(args, { stdin: 'v' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.trim()).toMatch(VERSION)
    expect(await cli(['get', 'k'])).toMatchObject({ code: 3 })
  })

  it.each([
    ['del', ['del', 'k']],
    ['vdel', ['vdel', 'k', 'v']],
  ])('%s prints an object with --json', async (_, args) => {
    await cli(['set', 'k', 'v'])
    const { code, stdout } = await cli([...args, '--json'])
    expect(code).toBe(0)
    const version = expect.stringMatching(VERSION)
    expect(jsonOf(stdout)).toEqual({ time, key: 'k', op: 'delete', deleted: true, version })
  })

  it.each([
    ['del', ['del', 'k'], 'rx-statestore: no such key: k\n'],
    ['vdel', ['vdel', 'k', 'v'], 'rx-statestore: not deleted: k does not hold this value\n'],
  ])('%s exits with code 3 when the key does not exist', async (_, args, words) => {
    expect(await cli(args)).toMatchObject({ code: 3, stdout: '', stderr: words })
    const { code, stdout, stderr } = await cli([...args, '--json'])
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(jsonOf(stdout)).toEqual({ time, key: 'k', op: 'delete', deleted: false })
  })

  it('del deletes several keys, and lists the missing keys', async () => {
    for (const key of ['a', 'b']) await cli(['set', key, 'v'])
    const { code, stdout, stderr } = await cli(['del', 'a', 'gone', 'b', 'lost'])
    expect({ code, stderr }).toEqual({ code: 3, stderr: 'rx-statestore: no such keys: gone, lost\n' })
    expect(stdout.trim().split('\n')).toEqual([expect.stringMatching(VERSION), expect.stringMatching(VERSION)])
    expect(store.stats.keys).toBe(0)
  })

  it('del lists a key whose deletion is rejected, and deletes the others', async () => {
    const { stdout: token } = await cli(['set', 'lock', 'me'])
    await cli(['set', 'a', 'v'])
    await cli(['set', 'guarded', 'v', '--ft', token.trim()])
    const { code, stdout, stderr } = await cli(['del', 'guarded', 'a', 'gone', '--json'])
    expect(code).toBe(1)
    expect(
      stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toMatchObject([
      { key: 'a', deleted: true },
      { key: 'gone', deleted: false },
    ])
    expect(stderr).toMatch(/^rx-statestore: guarded: [^\n]*a fencing token is required for this request\n$/)
  })

  it('del reads keys from standard input in the format of `keys`', async () => {
    for (const key of ['plain', 'two\nlines', "$'x'", "it's"]) await cli(['set', key, 'v'])
    const { stdout: stdin } = await cli(['keys'])
    expect(await cli(['del', '-'], { stdin })).toMatchObject({ code: 0, stderr: '' })
    expect(store.stats.keys).toBe(0)
    expect(await cli(['del', '-'], { stdin: '' })).toMatchObject({
      code: 3,
      stderr: 'rx-statestore: no keys on standard input\n',
    })
  })

  it('vdel exits with code 3 and does not delete the key when it has another value', async () => {
    await cli(['set', 'k', 'other'])
    expect(await cli(['vdel', 'k', 'v'])).toMatchObject({ code: 3, stdout: '' })
    expect(await cli(['get', 'k'])).toMatchObject({ code: 0, stdout: 'other' })
  })

  it.each([
    ['del', ['del', 'k']],
    ['vdel', ['vdel', 'k', 'v']],
  ])('%s accepts a fencing token', async (_, args) => {
    const { stdout } = await cli(['set', 'lock', 'me'])
    await cli(['set', 'k', 'v', '--ft', stdout.trim()])
    const refused = await cli(args)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/a fencing token is required for this request; see \S+#fencing-token-required\n$/)
    expect(await cli([...args, '--fencing-token', stdout.trim()])).toMatchObject({ code: 0 })
  })

  it.each([
    ['vdel without a value', ['vdel', 'k']],
    ['del without a key', ['del']],
  ])('exit with code 2 for %s', async (_, args) => {
    const { code, stderr } = await cli(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore v?del --help\n$/)
  })
})
