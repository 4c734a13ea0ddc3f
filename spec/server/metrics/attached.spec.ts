import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { attach } from '../../../src/server/index.js'
import { openAttached, untilState } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { openClient, record } from '../../support/open-client.js'
import { openMetrics, scrape } from './exposition.js'

describe('serveMetrics for a store at another broker', () => {
  it('has requests, keys and limits, without connections, sessions and messages', async () => {
    const url = `mqtt://127.0.0.1:${(await openBroker()).port}`
    const store = await openAttached(url, { maxKeys: 1_000 })
    const metrics = await openMetrics(store)
    const key = openClient(url).key('a', text)
    await key.set('1')
    await key.get()
    const now = await scrape(metrics)
    expect(now.value('rx_statestore_requests_total{command="SET",outcome="ok"}')).toBe(1)
    expect(now.value('aio_broker_state_store_retrievals')).toBe(1)
    expect(now.value('rx_statestore_resource_used{resource="keys"}')).toBe(1)
    expect(now.value('rx_statestore_resource_limit{resource="keys"}')).toBe(1_000)
    expect(now.value('rx_statestore_storage_state{state="kept"}')).toBe(1)
    expect(now.value('rx_statestore_ready')).toBe(1)
    expect(now.text).not.toMatch(/^(aio_broker_(store|publishes|payload)|rx_statestore_(connections|principal))/m)
  })

  it('the metrics and the audit log count requests that a quota rejected', async () => {
    const url = `mqtt://127.0.0.1:${(await openBroker()).port}`
    const store = await openAttached(url, { maxKeys: 1, maxWatches: 1 })
    const audit = record(store.audit$)
    const metrics = await openMetrics(store)
    const client = openClient(url, { clientId: 'panel' })
    await client.key('a', text).set('1')
    await expect(client.key('b', text).set('1')).rejects.toMatchObject({ code: 'quota-exceeded' })
    for (const name of ['a', 'b']) client.key(name, text).value$.subscribe({ error: () => undefined })
    await audit.until(({ values }) => values.length === 2)
    expect(audit.values).toMatchObject([
      { event: 'refused', action: 'write', clientId: 'panel', target: 'b', reason: 'quota' },
      { event: 'refused', action: 'read', clientId: 'panel', target: 'b', reason: 'quota' },
    ])
    const now = await scrape(metrics)
    expect(now.value('rx_statestore_quota_rejections_total{action="write"}')).toBe(1)
    expect(now.value('rx_statestore_quota_rejections_total{action="read"}')).toBe(1)
  })

  it('is ready on standby, and not ready when the broker is unreachable', async () => {
    const broker = await openBroker()
    const url = `mqtt://127.0.0.1:${broker.port}`
    await openAttached(url)
    const standby = await attach(url)
    onTestFinished(async () => standby.close())
    await untilState(standby, 'standby')
    const metrics = await openMetrics(standby)
    const health = async (): Promise<unknown> => (await fetch(`${metrics.url}healthz`)).json()
    expect(await health()).toMatchObject({ status: 'pass', checks: { broker: { state: 'standby' } } })
    await broker.close()
    await untilState(standby, 'reconnecting')
    expect(await health()).toMatchObject({ status: 'fail', checks: { broker: { state: 'reconnecting' } } })
    expect((await scrape(metrics)).value('rx_statestore_ready')).toBe(0)
    const response = await fetch(`${metrics.url}readyz`)
    expect([response.status, await response.text()]).toEqual([503, 'not ready: broker\n'])
  })
})
