import { access, mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listen } from '../support/listen.js'
import { openBroker } from '../support/open-broker.js'
import { scratch } from './open-console.js'
import { execute, jsonOf, start } from './test-io.js'

const ANY_PORT = ['serve', '--port', '0', '--ws-port', '0']

const statusOf = async (url: string, token: string): Promise<number> =>
  (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status

describe('serve --metrics', () => {
  it('prints the address of the metrics, and stops with the store', async () => {
    const running = start([...ANY_PORT, '--metrics', '0'])
    const line = await running.stdout.line(/^metrics on http:\/\/127\.0\.0\.1:\d+\/metrics$/)
    const url = line.replace('metrics on ', '')
    expect(await (await fetch(url)).text()).toContain('rx_statestore_ready 1')
    running.interrupt()
    expect(await running.exit).toBe(0)
    await expect(fetch(url)).rejects.toThrow()
  })

  it('requires a token file with a policy, and creates the file for its owner only', async () => {
    const policy = await scratch('policy.yaml')
    await writeFile(policy, '[]')
    const args = [...ANY_PORT, '--policy', policy, '--metrics', '127.0.0.1:0']
    const { code, stderr } = await execute(args)
    expect([code, stderr]).toEqual([2, expect.stringContaining('Expected --metrics-token-file for metrics')])
    const file = await scratch('token')
    const { stdout } = start([...args, '--metrics-token-file', file, '--json'])
    const { metrics } = Object(jsonOf(await stdout.line(/./)))
    expect((await fetch(metrics)).status).toBe(401)
    const headers = { authorization: `Bearer ${(await readFile(file, 'utf8')).trim()}` }
    expect((await fetch(metrics, { headers })).status).toBe(200)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['serve', 'SIGHUP'],
    ['serve', 'a change of the file'],
    ['attach', 'SIGHUP'],
  ])('replaces the token of `%s` on %s, and keeps it while the file is invalid', async (command, how) => {
    const [file, first, second] = [await scratch('token'), '1'.repeat(32), '2'.repeat(32)]
    await writeFile(file, first)
    const args = command === 'serve' ? ANY_PORT : ['attach', `mqtt://127.0.0.1:${(await openBroker()).port}`]
    const running = start([...args, '--metrics', '0', '--metrics-token-file', file])
    const url = (await running.stdout.line(/^metrics on /)).replace('metrics on ', '')
    const rotate = async (text: string, time: number): Promise<void> => {
      await writeFile(file, text)
      if (how === 'SIGHUP') running.interrupt('SIGHUP')
      else await utimes(file, time, time)
    }
    await rotate(second, 1)
    await running.stderr.line(/reloaded .*token$/)
    expect([await statusOf(url, first), await statusOf(url, second)]).toEqual([401, 200])
    await rotate('short', 2)
    expect(await running.stderr.line(/previous content/)).toBe(
      `${file}: Expected \`token\` to be 32 to 512 random letters, digits, \`-\` and \`_\`; ` +
        'the previous content stays in effect',
    )
    expect(await statusOf(url, second)).toBe(200)
  })

  it('writes wrong tokens to the audit log', async () => {
    const [token, audit] = [await scratch('token'), await scratch('audit')]
    const { stdout } = start([...ANY_PORT, '--metrics', '0', '--metrics-token-file', token, '--audit', audit, '--json'])
    const { metrics } = Object(jsonOf(await stdout.line(/./)))
    expect((await fetch(metrics, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401)
    expect(JSON.parse(await readFile(audit, 'utf8'))).toMatchObject({ event: 'login', listener: 'metrics' })
  })

  it.each([
    [['--metrics-token-file', 'token'], '--metrics-token-file requires --metrics'],
    [['--metrics', 'everywhere'], 'Expected a port, or an address and a port'],
    [['--metrics', '0.0.0.0:0'], 'other machines can reach 0.0.0.0'],
  ])('rejects %j', async (args, message) => {
    const { code, stderr } = await execute([...ANY_PORT, ...args])
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })

  it.each([
    [['--metrics', '0.0.0.0:0'], 'other machines can reach 0.0.0.0'],
    [['--metrics', '--policy', 'policy'], 'Expected --metrics-token-file for metrics'],
    [['--metrics', '--password-file', 'users'], 'Expected --metrics-token-file for metrics'],
    [['--metrics', '--metrics-token-file', 'short'], 'no token in'],
    [['--metrics', '--metrics-token-file', 'folder'], 'cannot read the file of --metrics-token-file'],
  ])('refuses %j with --check-config, and before the store opens', async (names, message) => {
    const data = await scratch('data')
    const folder = dirname(data)
    const files = ['policy', 'users', 'short', 'folder']
    await writeFile(join(folder, 'policy'), '[]')
    await writeFile(join(folder, 'users'), `alice:$scrypt$ln=1,r=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}\n`)
    await writeFile(join(folder, 'short'), 'short')
    await mkdir(join(folder, 'folder'))
    const args = [...ANY_PORT, '--data', data, ...names.map(name => (files.includes(name) ? join(folder, name) : name))]
    for (const more of [['--check-config'], []]) {
      const { code, stderr } = await execute([...args, ...more])
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
    }
    await expect(access(data)).rejects.toThrow('ENOENT')
  })

  it('does not create the token file with --check-config', async () => {
    const file = await scratch('token')
    const { code } = await execute([
      ...ANY_PORT,
      '--metrics',
      '0.0.0.0:0',
      '--metrics-token-file',
      file,
      '--check-config',
    ])
    expect(code).toBe(0)
    await expect(access(file)).rejects.toThrow('ENOENT')
  })

  it('names the flag when the port is taken, before the store opens', async () => {
    const data = await scratch('data')
    const port = String(await listen(createServer()))
    const { code, stderr } = await execute([...ANY_PORT, '--data', data, '--metrics', port])
    expect([code, stderr]).toEqual([1, expect.stringContaining('choose another with --metrics')])
    await expect(access(data)).rejects.toThrow('ENOENT')
  })
})
