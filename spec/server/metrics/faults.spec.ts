import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { text } from '../../../src/client/index.js'
import { logChannel, serverAccessChannel } from '../../../src/core/diagnostics/server-channels.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { openMetrics, scrape } from './exposition.js'

describe('the metric of an alert moves', () => {
  it('the metric of the alert moves when a client aborts its TLS handshake', async () => {
    const { store } = await openStore({ clock: systemClock, tls: new Authority('/CN=Plant').issue('/CN=store') })
    const metrics = await openMetrics(store)
    const sample = 'rx_statestore_handshakes_failed_total{listener="mqtts"}'
    expect((await scrape(metrics)).value(sample)).toBe(0)
    const socket = connect(Number(new URL(store.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('this is not TLS')
    socket.resume()
    await once(socket, 'close')
    expect((await scrape(metrics)).value(sample)).toBe(1)
  })

  it('a failing key server is counted and makes the health warn, while the store stays ready', async () => {
    let problem: string | undefined
    const authenticate = Object.assign(() => ({ principal: {} }), { problem: () => problem })
    const { store } = await openStore({ clock: systemClock, authenticate })
    const token = 'a-token-of-32-characters-or-more-x'
    const metrics = await openMetrics(store, { token })
    const get = async (path: string) => fetch(metrics.url + path, { headers: { authorization: `Bearer ${token}` } })
    expect(await (await get('healthz')).json()).toMatchObject({
      status: 'pass',
      checks: { logins: { status: 'pass' } },
    })
    problem = 'the key server fails'
    serverAccessChannel.publish({ event: 'keys-unavailable', reason: problem })
    const logins = { status: 'warn', output: problem }
    expect(await (await get('healthz')).json()).toMatchObject({ status: 'warn', checks: { logins } })
    expect((await get('readyz')).status).toBe(200)
    expect(await (await get('metrics')).text()).toMatch(/^rx_statestore_token_key_failures_total 1$/m)
  })

  it('the metric of the alert moves when the clock of a client is ahead', async () => {
    const { store } = await openStore({ clock: systemClock })
    const metrics = await openMetrics(store)
    const client = openClient(store.url, { clock: { ...systemClock, now: () => Date.now() + 600_000 } })
    await expect(client.key('a', text).set('1')).rejects.toMatchObject({ code: 'clock-skew' })
    expect((await scrape(metrics)).value('rx_statestore_request_errors_total{error="clock-skew"}')).toBe(1)
  })

  it('the metric of the alert moves when a snapshot cannot be written', async () => {
    const { store } = await openStore()
    const metrics = await openMetrics(store)
    logChannel.publish({ type: 'snapshot-failed', error: new Error('ENOSPC') })
    expect((await scrape(metrics)).value('rx_statestore_log_snapshots_failed_total')).toBe(1)
  })

  it('the metric of the alert moves when the clock of the store is set back', async () => {
    const { store, clock } = await openStore()
    const metrics = await openMetrics(store)
    await store.load([{ key: 'a', value: '1' }])
    clock.jump(-600_000)
    await store.load([{ key: 'a', value: '2' }])
    expect((await scrape(metrics)).value('rx_statestore_clock_drift_seconds')).toBeGreaterThan(60)
  })

  it('the metric of the alert moves when a frozen store is not ready, as /readyz says', async () => {
    const { store } = await openStore({ clock: systemClock })
    const metrics = await openMetrics(store)
    expect((await scrape(metrics)).value('rx_statestore_ready')).toBe(1)
    store.freeze(60_000)
    expect((await scrape(metrics)).value('rx_statestore_ready')).toBe(0)
    const response = await fetch(`${metrics.url}readyz`)
    expect([response.status, await response.text()]).toEqual([503, 'not ready: listener\n'])
    store.freeze(0)
    expect((await fetch(`${metrics.url}readyz`)).status).toBe(200)
  })
})
