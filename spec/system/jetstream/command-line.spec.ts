import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { filter, firstValueFrom, ReplaySubject } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { compilePackage, ROOT } from '../../support/compile-package.js'
import { listen } from '../../support/listen.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient } from '../../support/open-client.js'

const PATIENCE = 60_000

describe('nodes started from the command line', { timeout: PATIENCE }, () => {
  let nats: NatsCluster
  let folder: string

  // The folder is below node_modules, so that imports of other packages resolve.
  beforeAll(async () => {
    await mkdir(join(ROOT, 'node_modules/.cache'), { recursive: true })
    folder = await mkdtemp(join(ROOT, 'node_modules/.cache/rx-statestore-nodes-'))
    const started = NatsCluster.start()
    await compilePackage(folder)
    nats = await started
  }, PATIENCE)
  afterAll(async () => {
    await nats.stop()
    await rm(folder, { recursive: true })
  })

  /** Runs a command. `says` resolves with the first output line that matches, including earlier lines. */
  function launch(...args: readonly string[]) {
    const main = join(folder, 'dist/cli/main.js')
    const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env['PATH'] } })
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines$ = new ReplaySubject<string>()
    for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', line => lines$.next(line))
    const says = async (words: RegExp): Promise<string> => firstValueFrom(lines$.pipe(filter(line => words.test(line))))
    return { child, says }
  }

  it('a watch with three addresses survives the kill of its node and misses no change', async () => {
    const log = nats.servers.join(',')
    const nodes = await Promise.all(
      ['n1', 'n2', 'n3'].map(async id => {
        const node = launch(
          'serve',
          '--log',
          log,
          '--log-name',
          'cli',
          '--node-id',
          id,
          '--port',
          '0',
          '--ws-port',
          '0',
        )
        const line = await node.says(/listening on/)
        expect(line).toMatch(new RegExp(`^node ${id} of cli, listening on mqtt:`))
        return { ...node, url: /mqtt:\/\/[\d.:]+/.exec(line)?.[0] ?? '' }
      }),
    )
    const watch = launch('watch', 'k', ...nodes.flatMap(({ url }) => ['--url', url]))
    const address = /mqtt:\S+/.exec(await watch.says(/connected to/))?.[0] ?? ''
    await watch.says(/watching the key/)
    const own = nodes.find(({ url }) => url === address)
    const other = nodes.find(node => node !== own)
    const exited = once(own?.child ?? process, 'exit')
    own?.child.kill('SIGKILL')
    await exited
    // The client may be between two nodes.
    await openClient(other?.url ?? '')
      .key('k', text)
      .set('after')
    await watch.says(/\bk\b.*\bafter\b/)
    await watch.says(/connected to .* again/)
    expect(watch.child.exitCode).toBeNull()
  })

  it('a node whose start waits for an unresponsive NATS server stops when it is terminated', async () => {
    const hangs = createServer(() => undefined)
    const port = await listen(hangs)
    const connected = once(hangs, 'connection')
    const { child, says } = launch('serve', '--log', `nats://127.0.0.1:${port}`, '--port', '0', '--ws-port', '0')
    await connected
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await says(/^stopped$/)
    expect(await exited).toEqual([0, null])
  })
})
