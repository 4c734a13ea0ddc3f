import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SCHEMAS } from '../../src/cli/config-schema.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { execute, start } from './test-io.js'

async function settings(content: string): Promise<string> {
  const file = join(temporaryFolder(), 'store.yaml')
  await writeFile(file, content)
  return file
}

/** Returns the options with which `serve` would run. */
async function effective(content: string, args: readonly string[] = [], env = {}): Promise<unknown> {
  const file = await settings(content)
  const { code, stdout, stderr } = await execute(['serve', '--config', file, '--check-config', '--json', ...args], {
    env,
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

describe('--config', () => {
  it('a store runs with the options of a file', async () => {
    const file = await settings('port: 0\nws-port: 0\nconsole: 0\n')
    const { stdout, exit, interrupt } = start(['serve', '--config', file])
    await stdout.line(/^listening on mqtt:/)
    await stdout.line(/^console on /)
    interrupt()
    expect(await exit).toBe(0)
  })

  it('flags win over variables, and variables win over the file', async () => {
    const content = 'max-keys: 1\nmax-bytes: 1\nmax-watches: 1\n'
    const env = { RX_STATESTORE_MAX_BYTES: '2', RX_STATESTORE_MAX_WATCHES: '2' }
    expect(await effective(content, ['--max-watches', '3'], env)).toMatchObject({
      'max-keys': 1,
      'max-bytes': 2,
      'max-watches': 3,
    })
  })

  it('a file has texts, numbers, lists, times with units, switches and omitted values', async () => {
    const content = `
      dialect: documented
      max-keep-alive: 1m
      data: /nowhere
      persist: keys
      persist-key: ['a*', 'b*']
      allow-anonymous: false
      console: true
      audit: true
    `
    expect(await effective(content)).toMatchObject({
      dialect: 'documented',
      'max-keep-alive': 60_000,
      'persist-key': ['a*', 'b*'],
      console: 8080,
      audit: true,
    })
    expect(await effective(content)).not.toHaveProperty('allow-anonymous')
  })

  it('a variable may name the file, have several values, and turn a switch of the file off', async () => {
    const env = {
      RX_STATESTORE_CONFIG: await settings('allow-anonymous: true'),
      RX_STATESTORE_ALLOW_ANONYMOUS: 'false',
      RX_STATESTORE_ALLOWED_ORIGIN: 'https://a.example, https://b.example',
      RX_STATESTORE_CONSOLE_PORT: '9000',
      RX_STATESTORE_CONSOLE: 'http://127.0.0.1:8080/#token=x',
    }
    const { stdout } = await execute(['serve', '--check-config', '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({
      'allowed-origin': ['https://a.example', 'https://b.example'],
      console: 9000,
    })
    expect(stdout).not.toContain('allow-anonymous')
  })

  it.each([
    ['a misspelt name', 'port: 1\nmax-kyes: 5', 'line 2, max-kyes: unknown option `max-kyes` (did you mean max-keys?)'],
    ['the name of the API', 'maxKeys: 5', 'line 1, maxKeys: unknown option `maxKeys` (did you mean max-keys?)'],
    ['an unknown name', 'colour: red', 'line 1, colour: unknown option `colour`'],
    ['an invalid value', '\nport: many', 'line 2, port: Expected a port number from 0 to 65535, got `many`'],
    [
      'a size with a unit',
      'max-memory: 256MiB',
      'line 1, max-memory: Expected a number of bytes from 1, such as 268435456 for 256 MiB, got `256MiB`',
    ],
    ['a value instead of a list', 'persist-key: a', 'line 1, persist-key: Expected a list of globs, got `a`'],
    ['invalid YAML', 'port: [', 'line 1: '],
    ['a list', '- port', 'line 1: Expected a map, got `a list`'],
  ])('is rejected with the line for %s', async (_, content, words) => {
    const file = await settings(content)
    const { code, stderr } = await execute(['serve', '--config', file])
    expect([code, stderr]).toEqual([2, expect.stringContaining(`rx-statestore: ${file}: ${words}`)])
  })

  it.each([
    ['RX_STATESTORE_MAX_KYES', '5', 'unknown variable RX_STATESTORE_MAX_KYES (did you mean RX_STATESTORE_MAX_KEYS?)'],
    ['RX_STATESTORE_MAX_KEYS', 'x', 'RX_STATESTORE_MAX_KEYS: Expected a positive integer up to 2^53 - 1, got `x`'],
    ['RX_STATESTORE_PORT', 'tcp://10.0.0.1:1883', 'set `enableServiceLinks: false` in the pod'],
  ])('rejects the variable %s with the value %s', async (name, value, words) => {
    const { code, stderr } = await execute(['serve', '--check-config'], { env: { [name]: value } })
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  })

  it('ignores the variables of a service in Kubernetes, and those of other commands', async () => {
    const env = {
      RX_STATESTORE_SERVICE_HOST: '10.0.0.1',
      RX_STATESTORE_TLS_PORT: 'tcp://10.0.0.2:8883',
      RX_STATESTORE_TLS_SERVICE_PORT: '8883',
      RX_STATESTORE_TLS_PORT_8883_TCP: 'tcp://10.0.0.2:8883',
      RX_STATESTORE_TLS_PORT_8883_TCP_PROTO: 'tcp',
      RX_STATESTORE_PORT_1883_TCP_ADDR: '10.0.0.1',
      RX_STATESTORE_LOCK: 'line',
      RX_STATESTORE_URL: 'mqtt://a',
    }
    expect((await execute(['serve', '--check-config'], { env })).code).toBe(0)
  })

  it("--check-config prints options with their origins, without passwords, in the file's format", async () => {
    const file = await settings('max-keys: 7')
    const args = ['serve', '--config', file, '--check-config', '--port', '1']
    const { stdout } = await execute([...args, '--policy', '/nowhere'])
    expect(stdout).toBe('')
    const { stdout: printed } = await execute(args)
    expect(printed).toMatch(/^port: 1 +# --port$/m)
    expect(printed).toMatch(/^# ws-port: 8083 +# default$/m)
    expect(printed).toMatch(new RegExp(`^max-keys: 7 +# ${file}$`, 'm'))
    expect((await execute(['serve', '--config', await settings(printed), '--check-config'])).code).toBe(0)
    const { stdout: secret } = await execute(['serve', '--check-config', '--log', 'nats://me:secret@a:4222'])
    expect(secret).toContain('nats://***@a:4222')
  })

  it('takes the port of the metrics as an integer', async () => {
    expect(await effective('metrics: 9464')).toMatchObject({ metrics: 9464 })
    const outside = await execute(['serve', '--config', await settings('metrics: 65536'), '--check-config'])
    expect(outside).toMatchObject({ code: 2, stderr: expect.stringContaining('Expected a port') })
  })

  it.each(['nats://u:secretpw@h:4222', 'nats://u:p@secretpw@h:4222', 'nats://u:secretpw,x@h:4222'])(
    'shows no password of %s, neither in an option nor in an error',
    async address => {
      const shown = await execute(['serve', '--config', await settings(`log: "${address}"`), '--check-config'])
      expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('log: "nats://***@h:4222"') })
      const origins = await execute(['serve', '--check-config', '--allowed-origin', address])
      const list = await execute(['serve', '--config', await settings(`log: ["${address}"]`)])
      expect(list).toMatchObject({ code: 2, stderr: expect.stringContaining('got `nats://***@h:4222`') })
      for (const { stdout, stderr } of [shown, origins, list]) expect(stdout + stderr).not.toContain('secretpw')
    },
  )

  it('--check-config reports a missing file and contradictory options', async () => {
    const missing = await execute(['serve', '--config', '/nowhere.yaml'])
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('/nowhere.yaml: ENOENT') })
    const policy = await execute(['serve', '--config', await settings('policy: /nowhere'), '--check-config'])
    expect(policy).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot read /nowhere') })
    const persist = await execute(['serve', '--config', await settings('persist: none'), '--check-config'])
    expect(persist).toMatchObject({ code: 2, stderr: expect.stringContaining('Expected `data` together') })
  })

  it('`attach` accepts a settings file, and rejects an option that only `serve` has', async () => {
    const file = await settings('max-watches: 5\nidentity-property: who')
    const args = ['attach', 'mqtt://127.0.0.1:1', '--config', file, '--check-config']
    expect((await execute(args)).stdout).toMatch(/^max-watches: 5 /m)
    const unknown = await execute(['attach', 'mqtt://127.0.0.1:1', '--config', await settings('tls-cert: a')])
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown option `tls-cert`') })
  })

  it.each(Object.entries(SCHEMAS))('%s is up to date (npm run schema)', async (name, schema) => {
    const published = await readFile(new URL(`../../schema/${name}`, import.meta.url), 'utf8')
    expect(JSON.parse(published)).toEqual(JSON.parse(JSON.stringify(schema)))
  })
})
