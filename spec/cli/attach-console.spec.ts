import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { openBroker } from '../support/open-broker.js'
import { scratch } from './open-console.js'
import { execute, jsonOf, type Running, start } from './test-io.js'

/** Returns the arguments of `attach` for an external broker, with a console. */
async function atBroker() {
  const { port, wsPort } = await openBroker()
  const [url, wsUrl] = [`mqtt://127.0.0.1:${port}`, `ws://127.0.0.1:${wsPort}/`]
  return { url, wsUrl, args: ['attach', url, '--console', '0', '--console-broker-url', wsUrl] }
}

/** Returns the link of a console that a command has printed. */
const linkOf = async ({ stdout }: Running): Promise<string> =>
  (await stdout.line(/^console on http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/)).replace('console on ', '')

async function ask(link: string, path: string): Promise<unknown> {
  const url = new URL(link)
  const headers = { authorization: `Bearer ${url.hash.replace('#token=', '')}` }
  return (await fetch(new URL(path, url), { headers })).json()
}

describe('attach --console', () => {
  it('prints an address with a token, and stops with the store', async () => {
    const { url, wsUrl, args } = await atBroker()
    const running = start(args)
    const link = await linkOf(running)
    expect(await ask(link, 'api/store')).toMatchObject({ url, wsUrl, attached: true, seeded: false })
    await running.stdout.line(/^serving at/)
    running.interrupt()
    expect(await running.exit).toBe(0)
    await expect(ask(link, 'api/store')).rejects.toThrow()
  })

  it('prints the path of the file instead of the token into the journal of systemd', async () => {
    const { args } = await atBroker()
    const file = await scratch('token')
    const { stdout } = start([...args, '--console-token-file', file], { env: { JOURNAL_STREAM: '9:1234' } })
    expect(await stdout.line(/^console/)).toMatch(new RegExp(`^console on http:[^ #]+/ \\(token in ${file}\\)$`))
  })

  it('prints the address as JSON with --json', async () => {
    const { url, args } = await atBroker()
    const { stdout } = start([...args, '--json'])
    expect(jsonOf(await stdout.line(/console/))).toEqual({ broker: url, console: expect.stringMatching(/#token=/) })
    expect(jsonOf(await stdout.line(/life/))).toEqual({ broker: url, life: expect.any(String) })
  })

  it('passes the broker login to the page, without the line end of the password file', async () => {
    const file = await scratch('password')
    await writeFile(file, 'seven words\n')
    const { args } = await atBroker()
    const login = ['--console-broker-user', 'page', '--console-broker-password-file', file]
    const link = await linkOf(start([...args, ...login]))
    expect(await ask(link, 'api/store')).toMatchObject({ brokerLogin: { username: 'page', password: 'seven words' } })
    const nameAlone = await linkOf(start([...args, '--console-broker-user', 'page']))
    expect(await ask(nameAlone, 'api/store')).toMatchObject({ brokerLogin: { username: 'page' } })
  })

  it('lets `keys`, `dump` and `status` use the console', async () => {
    const { args } = await atBroker()
    const running = start(args)
    const console = await linkOf(running)
    await running.stdout.line(/^serving/)
    const file = await scratch('dump.ndjson')
    await writeFile(file, '{"key":"a","value":"1"}\n')
    expect(await execute(['load', file, '--console', console])).toMatchObject({ code: 0 })
    expect(await execute(['dump', '--console', console])).toMatchObject({ stdout: expect.stringContaining('"a"') })
    const { stdout } = await execute(['status', '--console', console])
    expect(stdout).toMatch(/^keys {5}1$/m)
    expect(stdout).toMatch(/^running {2}for \d+m?s$/m)
    expect(stdout).toMatch(/^clients {2}\d clients?, including this one; 0 watches$/m)
  })

  it('reports that a standby does not serve', async () => {
    const { url, args } = await atBroker()
    const first = start(['attach', url])
    await first.stdout.line(/^serving/)
    const second = start(args)
    const console = await linkOf(second)
    await second.stderr.line(/^another store serves/)
    const { code, stdout } = await execute(['status', '--console', console])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^running {2}not serving: standby$/m)])
    expect(await execute(['dump', '--console', console])).toMatchObject({ code: 1, stdout: '' })
    expect(jsonOf((await execute(['status', '--json', '--console', console])).stdout)).toMatchObject({
      console: { attached: 'standby', keys: 0 },
    })
  })

  it('writes requests to the audit log with --audit', async () => {
    const { args } = await atBroker()
    const running = start([...args, '--audit'])
    const link = await linkOf(running)
    await ask(link, 'api/store')
    await running.stderr.line(/"event":"login".*"listener":"console"/)
  })

  it('exits with code 1 when its port is in use', async () => {
    const { url, wsUrl } = await atBroker()
    const { port } = await openBroker()
    const args = ['attach', url, '--console', String(port), '--console-broker-url', wsUrl]
    expect(await execute(args)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot listen: port \d+ is in use .*--console/),
    })
  })

  it.each([
    [['--console'], /--console requires --console-broker-url: the page connects to the broker over WebSocket/],
    [['--console', '0', '--console-broker-url', 'mqtt://localhost'], /`brokerUrl` to be a URL with ws:/],
    [['--console', '0', '--console-broker-url', 'ws://a:b@localhost'], /without user name and password/],
    [['--console-broker-url', 'ws://localhost'], /--console-broker-url requires --console/],
    [['--console-broker-user', 'page'], /--console-broker-user requires --console/],
    [['--console-host', '127.0.0.1'], /--console-host requires --console/],
    [
      ['--console', '0', '--console-broker-url', 'ws://localhost', '--console-broker-password-file', 'x'],
      /--console-broker-password-file requires --console-broker-user/,
    ],
    [
      [
        ...['--console', '0', '--console-broker-url', 'ws://localhost', '--console-broker-user', 'page'],
        ...['--console-broker-password-file', '/nowhere'],
      ],
      /cannot read the file of --console-broker-password-file/,
    ],
  ])('exits with code 2 for %j', async (args, words) => {
    const { code, stderr } = await execute(['attach', 'mqtt://127.0.0.1:1', ...args])
    expect([code, stderr]).toEqual([2, expect.stringMatching(words)])
  })
})
