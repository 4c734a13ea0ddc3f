import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../harness/certificates.js'
import type { Environment } from '../../src/node/environment.js'
import { listen } from '../support/listen.js'
import { scratch } from './open-console.js'
import { execute, jsonOf, type Running, start } from './test-io.js'

const ANY_PORT = ['--port', '0', '--ws-port', '0']

/** Returns the address and the token of the console that a running command has printed. */
async function consoleOf({
  stdout,
}: Running): Promise<{ readonly url: URL; ask(path: string, body?: object): Promise<Response> }> {
  const line = await stdout.line(/^console on http:\/\/[^ ]+\/#token=[\w-]{43}$/)
  const url = new URL(line.replace('console on ', ''))
  const headers = { authorization: `Bearer ${url.hash.replace('#token=', '')}` }
  const ask = async (path: string, body?: object): Promise<Response> =>
    fetch(new URL(path, url), body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers })
  return { url, ask }
}

const takenPort = async (): Promise<number> => listen(createServer())

describe('serve --console', () => {
  it('prints an address with a token, and stops with the store', async () => {
    const running = start(['serve', ...ANY_PORT, '--console', '0'])
    const line = await running.stdout.line(/^listening on /)
    const { url, ask } = await consoleOf(running)
    expect(url.hostname).toBe('127.0.0.1')
    expect(await (await ask('api/store')).json()).toMatchObject({ url: /mqtt:\S+/.exec(line)?.[0], seeded: false })
    expect((await fetch(new URL('api/store', url))).status).toBe(401)
    running.interrupt()
    expect(await running.exit).toBe(0)
    await expect(ask('api/store')).rejects.toThrow()
  })

  it.each([
    ['in the directory of --data', (folder: string) => ['--data', folder], 'console-token'],
    ['in a file', (folder: string) => ['--console-token-file', `${folder}.token`], '../state.token'],
  ])('keeps its token %s, where only the owner and dump can read it', async (_, args, name) => {
    const folder = await scratch('state')
    const addresses: string[] = []
    for (let times = 1; times <= 2; times++) {
      const running = start(['serve', ...ANY_PORT, '--console', '0', ...args(folder)])
      const { url } = await consoleOf(running)
      addresses.push(url.hash)
      const file = join(folder, name)
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      expect(`#token=${(await readFile(file, 'utf8')).trim()}`).toBe(url.hash)
      expect(await execute(['dump', '--console', url.origin, '--console-token-file', file])).toMatchObject({ code: 0 })
      running.interrupt()
      await running.exit
    }
    expect(addresses[1]).toBe(addresses[0])
  })

  it('rejects a token that is too short, without printing it', async () => {
    const file = await scratch('token')
    await writeFile(file, 'secret')
    const { code, stderr } = await execute(['serve', ...ANY_PORT, '--console', '0', '--console-token-file', file])
    expect([code, stderr]).toEqual([2, expect.stringContaining('32 or more letters')])
    expect(stderr).not.toContain('secret')
  })

  it.each<[string, string[], Environment]>([
    ['in the journal of systemd', [], { JOURNAL_STREAM: '9:1234' }],
    ['as a service of systemd', [], { NOTIFY_SOCKET: '/nowhere' }],
    ['beside a log for machines', ['--log-format', 'json'], {}],
    ['beside a log for machines, as JSON', ['--log-format', 'json', '--json'], {}],
  ])('prints the path of the file instead of the token %s', async (_, flags, env) => {
    const data = await scratch('state')
    const { stdout, stderr } = start(['serve', ...ANY_PORT, '--console', '0', '--data', data, ...flags], { env })
    const address = /http:\/\/127\.0\.0\.1:\d+\/(?![\w#])/
    const line = await stdout.line(address)
    const file = join(data, 'console-token')
    if (!flags.includes('--json'))
      expect(line).toMatch(new RegExp(`^console on ${address.source} \\(token in ${file}\\)$`))
    if (flags.length > 0) {
      const { msg } = Object(jsonOf(await stderr.line(/"listening"/)))
      expect(msg).toMatch(new RegExp(`^listening on .*, console on ${address.source} \\(token in ${file}\\)$`))
    }
    const token = (await readFile(file, 'utf8')).trim()
    expect([stdout.text, stderr.text].join()).not.toContain(token)
    expect([stdout.text, stderr.text].join()).not.toContain('token=')
  })

  it('names the option that keeps the token if the log must not contain it and no file has it', async () => {
    const { stdout } = start(['serve', ...ANY_PORT, '--console', '0', '--log-format', 'json'])
    expect(await stdout.line(/^console/)).toMatch(/\/ \(to know its token, use --console-token-file\)$/)
  })

  it('prints the token on a terminal, also beside a log for machines', async () => {
    const env = { JOURNAL_STREAM: '9:1234' }
    const world = { env, columns: 100 }
    const { stdout } = start(['serve', ...ANY_PORT, '--console', '0', '--log-format', 'json'], world)
    await stdout.line(/^.*Console.* http:\/\/[^ ]+#token=[\w-]{43}/)
  })

  it('is verified by `status` with the certificate authority of the environment', async () => {
    const authority = new Authority('/CN=Plant')
    const { cert, key } = authority.issue('/CN=store')
    const [certFile, keyFile] = [await scratch('cert.pem'), await scratch('key.pem')]
    await writeFile(certFile, cert)
    await writeFile(keyFile, key)
    const tls = ['--tls-cert', certFile, '--tls-key', keyFile]
    const { stdout } = start(['serve', ...ANY_PORT, '--console', '0', ...tls])
    const link = (await stdout.line(/^console on https:/)).replace('console on ', '')
    const status = ['status', '--console', link]
    expect(await execute(status, { env: { AIO_TLS_CA_FILE: authority.file } })).toMatchObject({ code: 0 })
    expect(await execute(status)).toMatchObject({ code: 1, stderr: expect.stringContaining('certificate') })
  })

  it('prints the address as JSON with --json', async () => {
    const { stdout } = start(['serve', ...ANY_PORT, '--console', '0', '--json'])
    const { console } = Object(jsonOf(await stdout.line(/./)))
    expect(console).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/)
  })

  it('freezes only with --faults, and logs each attempt with its sender', async () => {
    const refused = start(['serve', ...ANY_PORT, '--console', '0'])
    expect((await (await consoleOf(refused)).ask('api/freeze', { ms: 1 })).status).toBe(403)
    await refused.stderr.line(/^console: refused \/api\/freeze from 127\.0\.0\.1$/)
    const running = start(['serve', ...ANY_PORT, '--console', '0', '--faults'])
    expect((await (await consoleOf(running)).ask('api/freeze', { ms: 1 })).status).toBe(200)
    await running.stderr.line(/^console: \/api\/freeze \{"ms":1\} from 127\.0\.0\.1$/)
  })

  it('is required by --faults', async () => {
    const { code, stderr } = await execute(['serve', ...ANY_PORT, '--faults'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--faults requires --console')])
  })

  it('remains available when the store restarts, and resets the store to its seed', async () => {
    const file = await scratch('seed.json')
    await writeFile(file, JSON.stringify({ a: 'text', b: 21.5 }))
    const running = start(['serve', ...ANY_PORT, '--console', '0', '--faults', '--seed', file])
    const line = await running.stdout.line(/^listening on .*, with 2 initial keys$/)
    const [url = ''] = /mqtt:\S+(?= and)/.exec(line) ?? []
    const { ask } = await consoleOf(running)
    expect(await (await ask('api/store')).json()).toMatchObject({ seeded: true })
    await execute(['set', 'a', 'changed', '--url', url])
    await execute(['set', 'more', 'v', '--url', url])
    expect((await ask('api/restart', { keys: 'kept' })).status).toBe(200)
    expect(await execute(['get', 'a', '--url', url])).toMatchObject({ stdout: 'changed' })
    expect(await (await ask('api/reset', {})).json()).toEqual({ deleted: 1, set: 2 })
    expect(await execute(['get', 'a', '--url', url])).toMatchObject({ stdout: 'text' })
    expect(await execute(['get', 'more', '--url', url])).toMatchObject({ code: 3 })
    expect((await ask('api/restart', { keys: 'lost' })).status).toBe(200)
    expect(await execute(['get', 'b', '--url', url])).toMatchObject({ code: 3 })
    await ask('api/reset', {})
    expect(await execute(['get', 'b', '--url', url])).toMatchObject({ stdout: '21.5' })
  })

  it('can reset the store to an empty seed', async () => {
    const file = await scratch('seed.json')
    await writeFile(file, '{}')
    const running = start(['serve', ...ANY_PORT, '--console', '0', '--seed', file])
    const { ask } = await consoleOf(running)
    expect(await (await ask('api/reset', {})).json()).toEqual({ deleted: 0, set: 0 })
  })

  it('listens on the address of --console-host', async () => {
    const running = start(['serve', ...ANY_PORT, '--console', '0', '--console-host', '0.0.0.0'])
    const { url, ask } = await consoleOf(running)
    expect(url.hostname).toBe('127.0.0.1')
    expect((await ask('api/store')).status).toBe(200)
  })

  it('exits with code 1 when its port is in use, and frees the ports of the store', async () => {
    const [port, own] = [String(await takenPort()), ['--port', '0', '--ws-port', '0']]
    const { code, stdout, stderr } = await execute(['serve', ...own, '--console', port])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      `rx-statestore: cannot listen: port ${port} is in use (EADDRINUSE); choose another with --console\n`,
    )
  })

  it.each([
    ['a port out of range', ['--console', '65536']],
    ['a port that is not a number', ['--console', 'yes']],
    ['--console-host alone', ['--console-host', '127.0.0.1']],
    ['an empty --console-host', ['--console', '0', '--console-host', '']],
  ])('exits with code 2 for %s', async (_, args) => {
    const { code, stderr } = await execute(['serve', ...ANY_PORT, ...args])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore serve --help\n$/)
  })

  it('opens no console without --console', async () => {
    const running = start(['serve', ...ANY_PORT])
    await running.stdout.line(/^listening on /)
    running.interrupt()
    await running.exit
    expect(running.stdout.text).not.toContain('console')
  })
})
