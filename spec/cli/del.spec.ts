import { beforeEach, describe, expect, it } from 'vitest'
import type { RunningStore } from '../../src/standalone.js'
import { execute, jsonOf, NOW, type Outcome, openStore, type TestWorld, VERSION } from './test-io.js'

const time = new Date(NOW).toISOString()

describe('del and vdel', () => {
  let store: RunningStore

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
  ])('%s ends with 3 when there is no such key', async (_, args, words) => {
    expect(await cli(args)).toMatchObject({ code: 3, stdout: '', stderr: words })
    const { code, stdout, stderr } = await cli([...args, '--json'])
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(jsonOf(stdout)).toEqual({ time, key: 'k', op: 'delete', deleted: false })
  })

  it('vdel ends with 3 and leaves the key when it holds another value', async () => {
    await cli(['set', 'k', 'other'])
    expect(await cli(['vdel', 'k', 'v'])).toMatchObject({ code: 3, stdout: '' })
    expect(await cli(['get', 'k'])).toMatchObject({ code: 0, stdout: 'other' })
  })

  it.each([
    ['del', ['del', 'k']],
    ['vdel', ['vdel', 'k', 'v']],
  ])('%s takes a fencing token', async (_, args) => {
    const { stdout } = await cli(['set', 'lock', 'me'])
    await cli(['set', 'k', 'v', '--ft', stdout.trim()])
    const refused = await cli(args)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/a fencing token is required for this request\n$/)
    expect(await cli([...args, '--ft', stdout.trim()])).toMatchObject({ code: 0 })
  })

  it.each([
    ['vdel without a value', ['vdel', 'k']],
    ['del with a value', ['del', 'k', 'v']],
    ['del without a key', ['del']],
  ])('ends with 2 for %s', async (_, args) => {
    const { code, stderr } = await cli(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore v?del --help\n$/)
  })
})
