import { X509Certificate } from 'node:crypto'
import { connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { text } from '../../../src/client/index.js'
import { serverConnectionChannel, serverPublishChannel } from '../../../src/core/diagnostics/server-channels.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { METRICS } from '../../../src/server/metrics/definitions.js'
import { serveMetrics } from '../../../src/server/metrics/index.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'
import { openMetrics, scrape } from './exposition.js'

const TOKEN = 'a-token-of-more-than-32-characters'

describe('serveMetrics', () => {
  it('exposes exactly the listed metrics, with their types and descriptions', async () => {
    const { store } = await openStore({ clock: systemClock })
    const { names, text } = await scrape(await openMetrics(store))
    expect(names).toEqual(Object.keys(METRICS))
    for (const [name, { help, type }] of Object.entries(METRICS)) {
      expect(text).toContain(`# HELP ${name} ${help}`)
      expect(text).toContain(`# TYPE ${name} ${type}`)
    }
  })

  it('counts requests under the names of Azure IoT Operations, and their durations by command', async () => {
    const { store } = await openStore({ clock: systemClock })
    const metrics = await openMetrics(store)
    const client = openClient(store.url)
    const key = client.key('a', text)
    await key.set('1')
    await key.set('2')
    await key.get()
    await key.delete()
    await key.set('3', { fencingToken: (await key.set('3')).version })
    await expect(key.set('4')).rejects.toMatchObject({ code: 'fencing-token-required' })
    const now = await scrape(metrics)
    expect(now.value('aio_broker_state_store_insertions')).toBe(2)
    expect(now.value('aio_broker_state_store_modifications')).toBe(2)
    expect(now.value('aio_broker_state_store_deletions')).toBe(1)
    expect(now.value('aio_broker_state_store_retrievals')).toBe(1)
    expect(now.value('rx_statestore_requests_total{command="SET",outcome="ok"}')).toBe(4)
    expect(now.value('rx_statestore_request_errors_total{error="fencing-token-required"}')).toBe(1)
    expect(now.value('rx_statestore_request_duration_seconds_count{command="SET"}')).toBe(5)
    expect(now.value('rx_statestore_pending_requests')).toBe(0)
    expect(now.value('rx_statestore_resource_used{resource="keys"}')).toBe(1)
  })

  it('exposes the end of the certificate in use, and none without TLS', async () => {
    const authority = new Authority('/CN=Contoso Root CA')
    const [first, second] = [authority.issue('/CN=localhost', { days: 1 }), authority.issue('/CN=localhost')]
    const { store } = await openStore({ clock: systemClock, tls: first })
    const metrics = await openMetrics(store)
    const expiresAt = async () => (await scrape(metrics)).value('rx_statestore_tls_not_after_seconds')
    expect(await expiresAt()).toBe(Date.parse(new X509Certificate(first.cert).validTo) / 1_000)
    store.reload({ tls: second })
    expect(await expiresAt()).toBe(Date.parse(new X509Certificate(second.cert).validTo) / 1_000)
    const { store: plain } = await openStore({ clock: systemClock })
    expect((await scrape(await openMetrics(plain))).text).not.toMatch(/^rx_statestore_tls_not_after_seconds /m)
  })

  it('labels messages with the category of the client, at most 1,000 categories', async () => {
    const { store } = await openStore({ clock: systemClock })
    const metrics = await openMetrics(store)
    const client = await StoreClient.ready(store.url, 'a', {
      properties: { userProperties: { metriccategory: 'line-1' } },
    })
    await client.request(command('GET a'))
    const opened = { type: 'opened', address: undefined, listener: 'mqtt', isSessionPresent: false } as const
    for (let i = 2; i <= 1_002; i++)
      serverConnectionChannel.publish({ ...opened, clientId: `client-${i}`, category: `line-${i}` })
    for (const clientId of ['client-1001', 'client-1002', 'client-2'])
      serverPublishChannel.publish({ direction: 'received', clientId, qos: 1, payloadBytes: 10 })
    const now = await scrape(metrics)
    expect(now.value('aio_broker_publishes_received{category="line-1"}')).toBe(1)
    expect(now.value('aio_broker_publishes_sent{category="line-1"}')).toBe(1)
    expect(now.value('aio_broker_publishes_received{category="line-2"}')).toBe(1)
    expect(now.value('aio_broker_payload_bytes_received{category="other"}')).toBe(20)
    expect(now.text.match(/^aio_broker_publishes_sent\{/gm)).toHaveLength(1_002)
  })

  it.each([
    ['longer than 64 characters', 'x'.repeat(65)],
    ['of the maximum length of MQTT', 'x'.repeat(65_535)],
    ['with other characters', 'line "1"\n'],
    ['that is empty', ''],
  ])('counts a category %s as `other`', async (_, metriccategory) => {
    const { store } = await openStore({ clock: systemClock })
    const metrics = await openMetrics(store)
    const longest = `plant/line-1:cell_2.${'x'.repeat(44)}`
    for (const category of [metriccategory, longest]) {
      const properties = { userProperties: { metriccategory: category } }
      const client = await StoreClient.ready(store.url, `client-${category.length}`, { properties })
      await client.request(command('GET a'))
    }
    const now = await scrape(metrics)
    expect(now.value('aio_broker_publishes_received{category="other"}')).toBe(1)
    expect(now.value(`aio_broker_publishes_received{category="${longest}"}`)).toBe(1)
    expect(now.text.match(/^aio_broker_publishes_sent\{/gm)).toHaveLength(3)
    expect(now.text.length).toBeLessThan(50_000)
  })

  it('formats the metrics once for concurrent requests', async () => {
    const { store } = await openStore({ clock: systemClock })
    const { hostname, port } = new URL((await openMetrics(store)).url)
    const socket = connect(Number(port), hostname)
    const head = 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n'
    socket.end(`${head}\r\n${head}connection: close\r\n\r\n`)
    const [, first = '', second] = (await readText(socket)).split(/^HTTP\/1\.1 200 OK\r\n/m)
    const cpuSeconds = /^process_cpu_seconds_total (.+)$/m
    expect(cpuSeconds.exec(second ?? '')?.[1]).toBe(cpuSeconds.exec(first)?.[1] ?? 'none')
  })

  it('keeps the metrics of a store with a policy from readers without the token', async () => {
    const { store } = await openStore({ clock: systemClock, policy: 'authorizationPolicies: { rules: [] }' })
    await expect(serveMetrics(store, { port: 0 })).rejects.toThrow('Expected `token`')
    await expect(serveMetrics(store, { port: 0, token: 'short' })).rejects.toThrow('32 to 512')
    const metrics = await openMetrics(store, { token: TOKEN })
    const status = async (path: string, token?: string): Promise<number> => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      return (await fetch(new URL(path, metrics.url), { headers })).status
    }
    expect(await status('metrics')).toBe(401)
    expect(await status('healthz', 'another-token-of-32-characters-xx')).toBe(401)
    expect(await status('metrics', TOKEN)).toBe(200)
    expect(await status('healthz', TOKEN)).toBe(200)
    expect([await status('livez'), await status('readyz'), await status('other')]).toEqual([200, 200, 404])
  })

  it('rejects a request with two Host headers', async () => {
    const { store } = await openStore()
    const { hostname, port } = new URL((await openMetrics(store)).url)
    const socket = connect(Number(port), hostname)
    socket.end('GET /metrics HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    expect(await readText(socket)).toMatch(/^HTTP\/1\.1 400 /)
  })

  it('requires a token for other machines, and rejects host names that could be rebound', async () => {
    const { store } = await openStore({ clock: systemClock })
    await expect(serveMetrics(store, { host: '0.0.0.0', port: 0 })).rejects.toThrow('other machines can reach 0.0.0.0')
    const { url } = await openMetrics(store)
    const { request } = await import('node:http')
    const status = await new Promise(resolve =>
      request(`${url}metrics`, { headers: { host: 'evil.example' } }, ({ statusCode }) => resolve(statusCode)).end(),
    )
    expect(status).toBe(403)
    expect((await fetch(`${url}metrics`, { method: 'POST' })).status).toBe(405)
  })

  it('listens with TLS and takes a new certificate', async () => {
    const { store } = await openStore({ clock: systemClock })
    const authority = new Authority('/CN=Plant')
    const metrics = await openMetrics(store, { tls: authority.issue('/CN=first') })
    expect(await subjectAt(metrics.url)).toBe('first')
    metrics.setTls(authority.issue('/CN=second'))
    expect(await subjectAt(metrics.url)).toBe('second')
  })
})

async function subjectAt(url: string): Promise<unknown> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}
