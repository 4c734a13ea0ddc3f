import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { freePort } from '../../../harness/free-port.js'
import { text } from '../../../src/client/index.js'
import { compilePackage, ROOT } from '../../support/compile-package.js'
import { runNginx } from '../../support/nginx.js'
import { openClient } from '../../support/open-client.js'
import { NATS_SERVER } from '../../support/services.js'

const PATIENCE = 120_000
const LOADER = join(ROOT, 'spec/system/packaging/compose')
const NODES = ['n1', 'n2', 'n3']
const SERVERS = ['nats-a', 'nats-b', 'nats-c']
/** The secrets, by the names of the variables and of the files. */
const SECRETS = {
  NATS_PASSWORD: ['nats-password', '0a'.repeat(32)],
  LOG_KEY: ['log-key', 'ab'.repeat(32)],
  METRICS_TOKEN: ['metrics-token', '2c'.repeat(32)],
  CONSOLE_TOKEN: ['console-token', '3e'.repeat(32)],
} as const

interface Service {
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly volumes?: readonly { readonly type: string; readonly source: string; readonly target: string }[]
}

describe('deploy/compose.yaml', { timeout: PATIENCE }, () => {
  let folder: string
  let services: Readonly<Record<string, Service>>
  // Each container has a separate address, with the same ports. Another run at the same time has other addresses.
  const network = `127.${100 + Math.floor(100 * Math.random())}.${Math.floor(250 * Math.random())}`
  const addressOf = (service: string): string => `${network}.${1 + [...SERVERS, ...NODES].indexOf(service)}`

  beforeAll(async () => {
    mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true })
    folder = mkdtempSync(join(ROOT, 'node_modules/.cache/rx-statestore-compose-'))
    for (const [name, value] of Object.values(SECRETS)) writeFileSync(join(folder, name), `${value}\n`, { mode: 0o600 })
    execFileSync('go', ['build', '-o', 'target/compose', '.'], { cwd: LOADER })
    const variables = Object.fromEntries(Object.entries(SECRETS).map(([variable, [, value]]) => [variable, value]))
    const output = execFileSync(join(LOADER, 'target/compose'), [join(ROOT, 'deploy/compose.yaml')], { env: variables })
    services = JSON.parse(String(output)).services
    await compilePackage(folder, 'code')
  }, PATIENCE)
  afterAll(() => rmSync(folder, { recursive: true }))

  /** Replaces the names of services, the secrets and the own address of a service. */
  const local = (words: string, service = ''): string =>
    words
      .replace(/\b(nats-[abc]|n[123])(?=:\d)/g, name => addressOf(name))
      .replaceAll('/run/secrets', folder)
      .replaceAll('0.0.0.0', addressOf(service))
      .replaceAll('127.0.0.1:8222', `${addressOf(service)}:8222`)
      .replaceAll('127.0.0.1:9464', `${addressOf(service)}:9464`)

  /** Returns the file of this repository that a service has at a path. */
  function mounted(service: string, path: string): string {
    const source = services[service]?.volumes?.find(({ target }) => target === path)?.source
    return readFileSync(source ?? expect.fail(`${service} has no ${path}`), 'utf8')
  }

  /** Runs a command until the end of the test. Resolves when a line of its output matches. */
  async function run(
    command: string,
    args: readonly string[],
    until: RegExp,
    env: NodeJS.ProcessEnv = {},
  ): Promise<ChildProcess> {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], ...env },
    })
    const ended = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await ended
    })
    const output: string[] = []
    await new Promise<void>((resolve, reject) => {
      const onLine = (line: string): void => {
        output.push(line)
        if (until.test(line)) resolve()
      }
      for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', onLine)
      child.once('exit', code => reject(new Error(`${command} ended (${code}): ${output.join('\n')}`)))
    })
    return child
  }

  async function runNats(service: string): Promise<void> {
    const data = join(folder, service)
    const config = local(mounted(service, '/etc/nats/nats.conf'), service).replace('/data', data)
    writeFileSync(`${data}.conf`, config)
    // Nodes may start before the election, but then repeat their first request only after a timeout.
    await run(NATS_SERVER ?? '', ['-c', `${data}.conf`], /metadata leader/, services[service]?.environment)
  }

  async function runNode(service: string): Promise<ChildProcess> {
    const { command = [] } = services[service] ?? {}
    const args = [...command.map(word => local(word, service)), '--node-id', service]
    return run(process.execPath, [join(folder, 'dist/cli/main.js'), ...args], /^metrics on /)
  }

  it('every mounted file exists', () => {
    const files = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.flatMap(({ type, source }) => (type === 'bind' ? [source] : [])),
    )
    expect(files.length).toBeGreaterThan(6)
    expect(files.filter(file => !existsSync(file))).toEqual([])
  })

  it('promtool accepts the configuration of Prometheus', () => {
    const config = local(mounted('prometheus', '/etc/prometheus/prometheus.yml'))
    const rules = mounted('prometheus', '/etc/prometheus/rules.yaml')
    writeFileSync(join(folder, 'rules.yaml'), rules)
    writeFileSync(join(folder, 'prometheus.yml'), config.replace('/etc/prometheus', folder))
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', join(folder, 'prometheus.yml')])
    const alerts = rules.match(/- alert:/g) ?? []
    expect([status, String(stdout) + stderr]).toEqual([0, expect.stringContaining(`${alerts.length} rules found`)])
  })

  it('as processes, the services are healthy and serve all clients through a failure', async () => {
    await Promise.all(SERVERS.map(runNats))
    const nodes = await Promise.all(NODES.map(runNode))
    for (const node of NODES) {
      const [, command = '', ...args] = services[node]?.healthcheck?.test ?? []
      const { status, stderr } = spawnSync(
        command,
        args.map(word => local(word, node)),
      )
      expect([status, String(stderr)]).toEqual([0, ''])
    }
    const port = await freePort()
    const http = local(mounted('nginx', '/etc/nginx/conf.d/default.conf')).replace('listen 80', `listen ${port}`)
    await runNginx(http, port, {})

    const browser = openClient(`ws://127.0.0.1:${port}/mqtt`).key('k', text)
    await browser.set('first')
    const device = openClient(`mqtt://${addressOf('n3')}:1883`).key('k', text)
    expect(await device.get()).toMatchObject({ value: 'first' })

    const { scrape_configs } = parse(local(mounted('prometheus', '/etc/prometheus/prometheus.yml')))
    const [{ authorization, static_configs }] = scrape_configs
    const token = readFileSync(authorization.credentials_file, 'utf8').trim()
    const targets: readonly string[] = static_configs[0].targets
    for (const target of targets) {
      const response = await fetch(`http://${target}/metrics`, { headers: { authorization: `Bearer ${token}` } })
      expect(await response.text()).toContain('rx_statestore_ready 1')
    }
    expect(targets).toHaveLength(NODES.length)

    const console = async (): Promise<number> => {
      const headers = { authorization: `Bearer ${SECRETS.CONSOLE_TOKEN[1]}` }
      return (await fetch(`http://127.0.0.1:${port}/console/api/store`, { headers })).status
    }
    expect(await console()).toBe(200)
    const ended = once(nodes[0] ?? expect.fail('no node'), 'exit')
    nodes[0]?.kill('SIGKILL')
    await ended
    expect(await console()).toBe(200)
    await browser.set('second')
    expect(await device.get()).toMatchObject({ value: 'second' })
  })
})
