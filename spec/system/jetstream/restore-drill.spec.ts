import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { type StateStore, text } from '../../../src/client/index.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import type { DumpLine } from '../../../src/node/dump/codec.js'
import { compiledCli } from '../../support/compiled-cli.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient, record } from '../../support/open-client.js'
import type { RunningProgram } from '../../support/running-program.js'

const PATIENCE = 90_000
const CLIENTS = 6
const KEYS = 200
const names = Array.from({ length: CLIENTS }, (_, at) => `client-${at}`)

describe('a restore drill', { timeout: PATIENCE }, () => {
  const cli = compiledCli()
  let nats: NatsCluster
  beforeAll(async () => {
    nats = await NatsCluster.start()
  }, PATIENCE)
  afterAll(async () => nats.stop())

  /** Runs a command to its end, and returns all lines of its output. */
  async function output(...args: readonly string[]): Promise<readonly string[]> {
    const command = cli.launch(...args)
    const lines = record(command.lines$)
    await command.closed
    expect(command.child.exitCode).toBe(0)
    return lines.values
  }

  const consoleOf = async (store: RunningProgram): Promise<string> =>
    /http:\S+(?=\/#)/.exec(await store.line(/^console on /))?.[0] ?? ''

  /** Dumps a store while clients write, and then kills the store. */
  async function disaster(port: number): Promise<{ readonly dump: string; readonly clients: readonly StateStore[] }> {
    const data = join(cli.folder, `lost-${port}`)
    const args = ['--port', String(port), '--ws-port', '0', '--console', '0', '--data', data]
    const store = cli.launch('serve', ...args)
    await store.line(/^listening on /)
    const clients = names.map(clientId => openClient(`mqtt://127.0.0.1:${port}`, { clientId }))
    const [first] = clients
    const lock = await first?.key('lock', text).set('holder')
    await first?.key('guarded', text).set('by the first holder', { fencingToken: String(lock?.version) })
    await first?.key('leaving', text).set('v', { expiresIn: 3_600_000 })
    let [writes, over] = [0, false]
    const load = Promise.all(
      clients.map(async (client, at) => {
        while (!over) {
          const key = client.key(`${names[at]}/${writes % KEYS}`, text)
          await key.set(String(++writes), { timeout: 2_000 }).catch(() => undefined)
        }
      }),
    )
    await expect.poll(() => writes, { timeout: 30_000 }).toBeGreaterThan(1_000)
    const dump = join(cli.folder, `dump-${port}.ndjson`)
    const token = ['--console-token-file', join(data, 'console-token')]
    const before = writes
    await output('dump', '--console', await consoleOf(store), ...token, '--file', dump)
    expect(writes, 'it was under load').toBeGreaterThan(before)
    await store.end()
    over = true
    await load
    return { dump, clients }
  }

  /** Checks that all clients see the dump's content, and that later writes are newer. */
  async function expectRestored(dump: string, clients: readonly StateStore[]): Promise<void> {
    const lines: DumpLine[] = (await readFile(dump, 'utf8'))
      .trim()
      .split('\n')
      .slice(1, -1)
      .map(line => JSON.parse(line))
    expect(lines.length).toBeGreaterThan(500)
    const newest = lines.map(({ version = '' }) => Hlc.parse(version)).reduce((a, b) => (a.compareTo(b) > 0 ? a : b))
    for (const client of clients) {
      const entries = await Promise.all(lines.map(async ({ key = '' }) => client.key(key, text).get()))
      expect(entries.map(({ value, version }) => [value, String(version)])).toEqual(
        lines.map(({ value, version }) => [value, version]),
      )
    }
    const [first] = clients
    const guarded = first?.key('guarded', text)
    const before = lines.find(({ key }) => key === 'guarded')?.fencingToken ?? ''
    await expect(guarded?.set('late', { fencingToken: '5:0:late' })).rejects.toMatchObject({
      code: 'fencing-token-stale',
    })
    const lock = await first?.key('lock', text).set('the next holder')
    expect(lock?.version?.compareTo(Hlc.parse(before))).toBeGreaterThan(0)
    expect(lock?.version?.compareTo(newest)).toBeGreaterThan(0)
    await guarded?.set('by the next holder', { fencingToken: String(lock?.version) })
    for (const client of clients)
      expect(await client.key('guarded', text).get()).toMatchObject({ value: 'by the next holder' })
  }

  it('a restored dump gives all clients the same keys, and versions and tokens continue', async () => {
    const port = await freePort()
    const { dump, clients } = await disaster(port)
    const watches = clients.map((client, at) => record(client.key(`${names[(at + 1) % CLIENTS]}/0`, text).value$))
    const data = join(cli.folder, 'restored')
    // The dump is loaded before clients connect, so that no version is newer than those of the dump.
    const elsewhere = cli.launch('serve', '--port', '0', '--ws-port', '0', '--console', '0', '--data', data)
    const token = ['--console-token-file', join(data, 'console-token')]
    const loaded = await output('load', dump, '--console', await consoleOf(elsewhere), ...token)
    expect(loaded).toEqual([expect.stringMatching(/^(\d+) keys loaded, \1 kept the version of the dump$/)])
    await elsewhere.end('SIGTERM')
    await cli.launch('serve', '--port', String(port), '--ws-port', '0', '--data', data).line(/^listening on /)
    await expectRestored(dump, clients)
    for (const [at, client] of clients.entries()) await client.key(`${names[at]}/0`, text).set('after')
    for (const watch of watches) await watch.until(({ values }) => values.at(-1) === 'after')
  })

  it('restoring a dump to three nodes gives the same result, whichever node a client uses', async () => {
    const { dump } = await disaster(await freePort())
    const key = join(cli.folder, 'log-key')
    await writeFile(key, `${'0123456789abcdef'.repeat(4)}\n`, { mode: 0o600 })
    const token = join(cli.folder, 'nodes-token')
    const log = ['--log', nats.servers.join(','), '--log-name', 'restored', '--log-key-file', key]
    const start = async (id: string, ...more: readonly string[]) => {
      const node = cli.launch('serve', ...log, '--node-id', id, '--port', '0', '--ws-port', '0', ...more)
      return { node, url: /mqtt:\/\/[\d.:]+/.exec(await node.line(/listening on/))?.[0] ?? '' }
    }
    const n1 = await start('n1', '--console', '0', '--console-token-file', token)
    const loaded = await output('load', dump, '--console', await consoleOf(n1.node), '--console-token-file', token)
    expect(loaded).toEqual([expect.stringMatching(/^(\d+) keys loaded, \1 kept the version of the dump$/)])
    const nodes = [n1, await start('n2'), await start('n3')]
    const clients = nodes.map(({ url }, at) => openClient(url, { clientId: names[at] ?? '' }))
    const watches = clients.map(client => record(client.key('guarded', text).value$))
    await expectRestored(dump, clients)
    for (const watch of watches) await watch.until(({ values }) => values.at(-1) === 'by the next holder')
  })
})
