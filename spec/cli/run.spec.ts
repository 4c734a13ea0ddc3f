import { describe, expect, it } from 'vitest'
import { freePort } from '../../harness/free-port.js'
import manifest from '../../package.json' with { type: 'json' }
import { execute } from './test-io.js'

const COMMANDS = [
  'serve',
  'attach',
  'get',
  'set',
  'del',
  'vdel',
  'keys',
  'dump',
  'load',
  'check',
  'recover',
  'watch',
  'retained',
  'probe',
  'status',
  'completion',
  'lock',
  'passwd',
  'policy',
]

describe('The command line', () => {
  it('prints its version', async () => {
    for (const flag of ['--version', '-V']) {
      expect(await execute([flag])).toMatchObject({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
    }
  })

  it('prints help with all commands and exit codes', async () => {
    const { code, stdout, stderr } = await execute(['--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'))
    expect(stdout).toContain(
      'Exit codes: 0 done, 1 failed, 2 usage, 3 condition not met or no such key, 4\nlock lost, 5 recovered in part',
    )
    expect(await execute(['help'])).toMatchObject({ code: 0, stdout })
  })

  it.each(COMMANDS)('prints help of %s with an example', async command => {
    const { code, stdout, stderr } = await execute([command, '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`$ rx-statestore ${command}`)
    expect(stdout).toMatch(/^Examples?:$/m)
    expect(await execute(['help', command])).toMatchObject({ code: 0, stdout })
  })

  it.each(COMMANDS)('wraps the help of %s at the width of the terminal', async command => {
    for (const columns of [80, 120, undefined]) {
      const world = columns === undefined ? {} : { columns }
      const { stdout } = await execute([command, '--help-all'], world)
      const { stdout: brief } = await execute([command, '--help'], world)
      const wide = `${stdout}${brief}`.split('\n').filter(line => line.length > (columns ?? 80))
      expect(wide).toEqual([])
    }
  })

  it.each(['serve', 'attach'])('shows the common options of %s in 30 lines, and all with --help-all', async command => {
    const { stdout } = await execute([command, '--help'], { columns: 80 })
    expect(stdout.split('\n').length).toBeLessThanOrEqual(31)
    expect(stdout).not.toContain('--persist-key')
    const { code, stdout: all } = await execute([command, '--help-all'], { columns: 80 })
    expect(code).toBe(0)
    expect(all).toContain('--persist-key')
    expect(all).toContain('Keys are in memory')
  })

  it.each([
    ['a misspelt flag of a rare option', ['serve', '--max-conections', '4'], '--max-connections'],
    ['a misspelt flag', ['set', 'k', 'v', '--fencing-tokn', '1'], '--fencing-token'],
  ])('suggests the nearest flag for %s', async (_, args, flag) => {
    expect((await execute(args)).stderr).toContain(`(Did you mean ${flag}?)`)
  })

  it('ends an error with the link to its description', async () => {
    const { stderr } = await execute(['get', 'k', '--url', 'mqtt://127.0.0.1:1', '--timeout', '50'])
    expect(stderr).toMatch(/; see https:\/\/github\.com\/.*\/docs\/errors\.md#timeout\n$/)
    expect((await execute(['check', '/nowhere'])).stderr).not.toContain('errors.md')
  })

  it.each([
    ['no command', [], 'missing command; see rx-statestore --help'],
    ['an unknown command', ['got', 'k'], "unknown command 'got' (Did you mean get?); see rx-statestore --help"],
    [
      'an option of the library with a value',
      ['set', 'k', 'v', '--expires-in=1h'],
      "unknown option '--expires-in=1h' (Did you mean --px?); see rx-statestore set --help",
    ],
    [
      'an option of the library',
      ['set', 'k', 'v', '--if-absent'],
      "unknown option '--if-absent' (Did you mean --nx?); see rx-statestore set --help",
    ],
    [
      'an option that the command lacks',
      ['get', 'k', '--expires-in'],
      "unknown option '--expires-in'; see rx-statestore get --help",
    ],
    ['an unknown flag', ['get', 'k', '--x'], "unknown option '--x'; see rx-statestore get --help"],
    [
      'a flag without a value',
      ['get', 'k', '--url'],
      "option '--url <url>' argument missing; see rx-statestore get --help",
    ],
    ['a missing key', ['get'], "missing required argument 'key'; see rx-statestore get --help"],
    [
      'too many arguments',
      ['set', 'a', 'b', 'c'],
      "too many arguments for 'set'. Expected 2 arguments but got 3; see rx-statestore set --help",
    ],
  ])('exits with code 2 and one line for %s', async (_, args, words) => {
    expect(await execute(args)).toMatchObject({ code: 2, stdout: '', stderr: `rx-statestore: ${words}\n` })
  })

  it('escapes arguments that it repeats in a message', async () => {
    const { stderr } = await execute(['get', 'k', '--url', 'mqtt\n\u001b[2J'])
    expect(stderr).toMatch(/^rx-statestore: Expected a broker URL .*\\u001b\[2J.*\n$/)
  })

  it('uses colours only on a terminal', async () => {
    const red = '\u001b[31mrx-statestore:\u001b[39m'
    expect((await execute([], { columns: 80 })).stderr).toContain(red)
    expect((await execute([], { columns: 80, env: { NO_COLOR: '1' } })).stderr).not.toContain(red)
    expect((await execute([], { env: { FORCE_COLOR: '1' } })).stderr).toContain(red)
    expect((await execute([], { env: { CI: '1' } })).stderr).not.toContain(red)
  })

  it('a flag value that equals the name of another command does not change the exit codes', async () => {
    const unused = `mqtt://127.0.0.1:${await freePort()}`
    const connection = ['--url', unused, '--timeout', '100ms']
    expect(await execute(['--client-id', 'probe', 'get', 'a', ...connection])).toMatchObject({ code: 1 })
    expect(await execute(['--client-id', 'get', 'probe', ...connection])).toMatchObject({ code: 2 })
    const { code, stderr } = await execute(['--client-id', 'probe', 'get', '--no-such-flag'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/see rx-statestore get --help$/m) })
  })
})
