import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { text } from '../../../src/client/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { type ServeOptions, type StoreServer, serve } from '../../../src/server/index.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { openMetrics } from '../../server/metrics/exposition.js'
import { ROOT } from '../../support/compile-package.js'
import { eventually } from '../../support/eventually.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient, record } from '../../support/open-client.js'
import { type MonitoredStore, Prometheus } from '../../support/prometheus.js'
import { RawSocket } from '../../support/raw-socket.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

/**
 * The rules that operators use, except that alerts which fire after five minutes fire after 2 s, and that other times of
 * five minutes are 5 s. Shorter times remain.
 */
const RULES = readFileSync(join(ROOT, 'deploy/prometheus/rules.yaml'), 'utf8')
  .replaceAll('for: 5m', 'for: 2s')
  .replaceAll('[5m]', '[5s]')

let prometheus: Prometheus
beforeAll(async () => {
  prometheus = await Prometheus.start(RULES)
}, 60_000)
afterAll(async () => prometheus.stop())

const timestamp = (): string => `${Date.now()}:0:spec`

/** Opens a store without alerts that Prometheus scrapes. */
async function monitored(options: ServeOptions = {}): Promise<{ store: StoreServer; instance: MonitoredStore }> {
  const store = await serve({ port: 0, wsPort: 0, ...options })
  onTestFinished(async () => store.close())
  const { url } = await openMetrics(store)
  const instance = await prometheus.monitor(url)
  await expectAlerts([], instance)
  return { store, instance }
}

/** On a busy machine, a scrape may fail, which makes an alert pending until the next scrape. */
const expectAlerts = async (expected: readonly string[], instance: MonitoredStore): Promise<void> =>
  expect.poll(async () => instance.alerts(), { timeout: 5_000 }).toEqual(expected)

/**
 * Checks that this alert fires, and that no other is firing or pending after the rules were evaluated again.
 *
 * @param continueFault - called before each evaluation
 */
async function expectOnly(
  alert: string,
  instance: MonitoredStore,
  continueFault: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  while ((await instance.alerts()).every(each => each.endsWith(' pending'))) {
    await continueFault()
    await instance.evaluated()
  }
  await instance.evaluated()
  await expectAlerts([`${alert} firing`], instance)
}

/** Mounts a disk of 2 MiB until the end of the test. Returns undefined without the right to do so. */
function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'full-disk-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder], { stdio: 'ignore' })
  onTestFinished(() => {
    if (status === 0) spawnSync('umount', [folder])
    rmSync(folder, { recursive: true })
  })
  return status === 0 ? folder : undefined
}

/** The options of a certificate whose end raises no alert. */
const LONG_LIVED = { days: 90 }

describe('the alert rules at a real Prometheus', { tags: 'slow', timeout: 60_000 }, () => {
  it('a store that works raises no alert', async () => {
    const data = mkdtempSync(join(tmpdir(), 'data-'))
    onTestFinished(() => rmSync(data, { recursive: true }))
    const authority = new Authority('/CN=Plant')
    const { store, instance } = await monitored({ data, tls: authority.issue('/CN=store', LONG_LIVED) })
    const writer = openClient(store.url, { ca: authority.cert })
    const watch = record(writer.key('k', text).value$)
    for (let round = 0; round < 15; round++) {
      const visitor = await StoreClient.ready(store.url, `visitor-${round}`, { ca: authority.cert })
      await visitor.request(command('GET k'))
      await writer.key('k', text).set(String(round))
      await writer.key('temporary', text).delete()
      visitor.hangUp()
      await instance.evaluated()
    }
    await watch.until(({ values }) => values.at(-1) === '14')
    expect(await instance.hasAlerted()).toBe(false)
    await expectAlerts([], instance)
  })

  it('a full disk raises only StateStoreDiskFull, until there is space again', async ({ skip }) => {
    const disk = mountSmallDisk()
    if (disk === undefined) return skip('needs the right to mount a tmpfs')
    const { store, instance } = await monitored({ data: join(disk, 'state') })
    const client = await StoreClient.ready(store.url, 'alice')
    const filler = join(disk, 'filler')
    expect(() => writeFileSync(filler, new Uint8Array(2 * 1024 * 1024))).toThrow('ENOSPC')
    const large = command(`SET k ${'x'.repeat(1_000_000)}`)
    while (store.storage.state !== 'full') await client.request(large, { timestamp: timestamp() })
    await expectOnly('StateStoreDiskFull', instance)
    rmSync(filler)
    await client.request(large, { timestamp: timestamp() })
    await expectAlerts([], instance)
  })

  it('a dead leader of the NATS servers raises only StateStoreLogDegraded', async () => {
    const nats = await NatsCluster.start()
    onTestFinished(async () => nats.stop())
    const { store, instance } = await monitored({
      // An election takes up to ten seconds, and longer on a busy machine.
      log: jetStreamLog({ servers: nats.servers, name: 'spec', nodeId: 'a', stallTimeout: 30_000 }),
    })
    const key = openClient(store.url).key('k', text)
    await key.set('before')
    await eventually(() => store.cluster?.leader !== undefined)
    const leader = Number(store.cluster?.leader?.slice(1))
    await nats.kill(leader)
    await key.set('after', { timeout: 30_000 })
    await expectOnly('StateStoreLogDegraded', instance)
  })

  it('a store that has reached a quota raises only StateStoreRequestsRejected', async () => {
    const { store, instance } = await monitored({ maxKeys: 1 })
    const client = openClient(store.url)
    await client.key('first', text).set('1')
    await expect(client.key('second', text).set('1')).rejects.toMatchObject({ code: 'quota-exceeded' })
    await expectOnly('StateStoreRequestsRejected', instance)
  })

  it('a client that does not read raises only StateStoreSlowClients', async () => {
    const { store, instance } = await monitored()
    const slow = await StoreClient.ready(store.url, 'slow')
    const writer = await StoreClient.ready(store.url, 'writer')
    await slow.request(command('KEYNOTIFY k'))
    slow.deafen()
    const large = command(`SET k ${'x'.repeat(1_048_576)}`)
    while (store.clientIds.includes('slow')) await writer.request(large, { timestamp: timestamp() })
    await expectOnly('StateStoreSlowClients', instance)
  })

  it('a client whose clock is ahead raises only StateStoreClientClockOff', async () => {
    const { store, instance } = await monitored()
    const client = openClient(store.url, { clock: { ...systemClock, now: () => Date.now() + 600_000 } })
    await expect(client.key('k', text).set('1')).rejects.toMatchObject({ code: 'clock-skew' })
    await expectOnly('StateStoreClientClockOff', instance)
  })

  it('a clock that was set back raises only StateStoreClockSetBack', async () => {
    let offset = 0
    const { store, instance } = await monitored({ clock: { ...systemClock, now: () => Date.now() + offset } })
    await store.load([{ key: 'k', value: '1' }])
    offset = -600_000
    await store.load([{ key: 'k', value: '2' }])
    await expectOnly('StateStoreClockSetBack', instance)
  })

  it('a certificate that expires in two days raises only StateStoreCertificateExpires', async () => {
    const authority = new Authority('/CN=Plant')
    const { store, instance } = await monitored({ tls: authority.issue('/CN=store', LONG_LIVED) })
    store.reload({ tls: authority.issue('/CN=store', { days: 2 }) })
    await expectOnly('StateStoreCertificateExpires', instance)
  })

  it('aborted TLS handshakes raise only StateStoreHandshakesFailing', async () => {
    const { store, instance } = await monitored({ tls: new Authority('/CN=Plant').issue('/CN=store', LONG_LIVED) })
    await expectOnly('StateStoreHandshakesFailing', instance, async () => {
      const socket = await RawSocket.open(store.url)
      await socket.send('this is not TLS')
      await socket.closed
    })
  })
})
