import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { compiledCli } from '../../support/compiled-cli.js'
import { listen } from '../../support/listen.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient } from '../../support/open-client.js'

const PATIENCE = 60_000

describe('nodes started from the command line', { timeout: PATIENCE }, () => {
  const cli = compiledCli()
  let nats: NatsCluster
  beforeAll(async () => {
    nats = await NatsCluster.start()
  }, PATIENCE)
  afterAll(async () => nats.stop())

  it('a watch with three addresses survives the kill of its node and misses no change', async () => {
    const log = ['--log', nats.servers.join(','), '--log-name', 'cli']
    const nodes = await Promise.all(
      ['n1', 'n2', 'n3'].map(async id => {
        const node = cli.launch('serve', ...log, '--node-id', id, '--port', '0', '--ws-port', '0')
        const line = await node.line(/listening on/)
        expect(line).toMatch(new RegExp(`^node ${id} of cli, listening on mqtt:`))
        return { node, url: /mqtt:\/\/[\d.:]+/.exec(line)?.[0] ?? '' }
      }),
    )
    const watch = cli.launch('watch', 'k', ...nodes.flatMap(({ url }) => ['--url', url]))
    const address = /mqtt:\S+/.exec(await watch.line(/connected to/))?.[0] ?? ''
    await watch.line(/watching the key/)
    const own = nodes.find(({ url }) => url === address)
    const other = nodes.find(node => node !== own)
    await own?.node.end()
    // The client may be between two nodes.
    await openClient(other?.url ?? '')
      .key('k', text)
      .set('after')
    await watch.line(/\bk\b.*\bafter\b/)
    await watch.line(/connected to .* again/)
    expect(watch.child.exitCode).toBeNull()
  })

  it('a node whose start waits for an unresponsive NATS server stops when it is terminated', async () => {
    const hangs = createServer(() => undefined)
    const port = await listen(hangs)
    const connected = once(hangs, 'connection')
    const node = cli.launch('serve', '--log', `nats://127.0.0.1:${port}`, '--port', '0', '--ws-port', '0')
    await connected
    expect(await node.end('SIGTERM')).toEqual([0, null])
    await node.line(/^stopped$/)
  })
})
