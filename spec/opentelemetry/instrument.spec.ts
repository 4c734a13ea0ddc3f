import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { filter, firstValueFrom, lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type StateStore, text } from '../../src/client/index.js'
import { systemClock } from '../../src/core/util/clock.js'
import { instrument } from '../../src/opentelemetry/index.js'
import type { ServeOptions } from '../../src/server/index.js'
import { eventually } from '../support/eventually.js'
import { openClient } from '../support/open-client.js'
import { openStore } from '../support/open-store.js'
import { findSpan, openTelemetry } from '../support/open-telemetry.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const contextManager = new AsyncLocalStorageContextManager().enable()
beforeAll(() => void context.setGlobalContextManager(contextManager))
afterAll(() => context.disable())

async function open(options: ServeOptions = {}) {
  const { store } = await openStore({ clock: systemClock, ...options })
  return { store, writer: openClient(store.url, { clientId: 'writer' }), watcher: openClient(store.url) }
}

async function watch(client: StateStore, name: string): Promise<void> {
  const key = client.key(name, text)
  key.value$.subscribe()
  await firstValueFrom(key.freshness$.pipe(filter(({ state }) => state === 'live')))
}

describe('instrument', () => {
  it('shows a set, its store and its notification in one trace', async () => {
    const { spans, tracer } = openTelemetry()
    const { store, writer, watcher } = await open()
    await watch(watcher, 'a')
    await lastValueFrom(writer.scan('*', text), { defaultValue: undefined })
    await tracer.startActiveSpan('app', async app => {
      await writer.key('a', text).set('secret')
      app.end()
    })
    await eventually(() => findSpan(spans(), /^NOTIFY$/, SpanKind.CONSUMER) !== undefined)
    const app = spans().find(({ name }) => name === 'app')
    const client = findSpan(spans(), /^SET /, SpanKind.CLIENT)
    const server = findSpan(spans(), /^SET$/, SpanKind.SERVER)
    const notification = findSpan(spans(), /^NOTIFY$/, SpanKind.CONSUMER)
    expect(client?.parentSpanContext?.spanId).toBe(app?.spanContext().spanId)
    expect(server?.parentSpanContext?.spanId).toBe(client?.spanContext().spanId)
    expect(notification?.parentSpanContext?.spanId).toBe(server?.spanContext().spanId)
    const traceIds = [app, client, server, notification].map(span => span?.spanContext().traceId)
    expect(new Set(traceIds).size).toBe(1)
    const { hostname, port } = new URL(store.url)
    expect(client).toMatchObject({
      name: `SET ${hostname}:${port}`,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'db.system.name': 'rx-statestore',
        'db.operation.name': 'SET',
        'server.address': hostname,
        'server.port': Number(port),
      },
    })
    expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toMatch(/secret|db\.query\.text/)
  })

  it('shows the time in the log of a store on disk', async () => {
    const data = temporaryFolder()
    const { spans } = openTelemetry()
    const { writer } = await open({ data })
    await writer.key('a', text).set('1')
    const log = findSpan(spans(), /^log$/, SpanKind.INTERNAL)
    const server = findSpan(spans(), /^SET$/, SpanKind.SERVER)
    expect(log?.parentSpanContext?.spanId).toBe(server?.spanContext().spanId)
  })

  it('names keys and globs only on request, and never values', async () => {
    const { spans } = openTelemetry({ keys: true })
    const { writer } = await open()
    await writer.key('a', text).set('secret')
    await writer.key('a', text).get()
    await lastValueFrom(writer.scan('a*', text))
    const queries = spans().map(({ kind, attributes }) => [kind, attributes['db.query.text']])
    for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) expect(queries).toContainEqual([kind, 'SCAN a*'])
    expect(queries).toContainEqual([SpanKind.CLIENT, 'SET a ?'])
    expect(queries).toContainEqual([SpanKind.SERVER, 'GET a'])
    expect(JSON.stringify(queries)).not.toContain('secret')
  })

  it('marks spans of failed requests with the code of the error, without the key', async () => {
    const { spans } = openTelemetry()
    const { writer } = await open()
    const key = writer.key('private', text)
    const { version } = await key.set('1')
    await key.set('2', { fencingToken: version })
    await expect(key.set('3')).rejects.toMatchObject({ code: 'fencing-token-required' })
    const failed = spans().filter(({ status }) => status.code === SpanStatusCode.ERROR)
    expect(failed.map(({ kind, attributes }) => [kind, attributes['error.type']])).toEqual([
      [SpanKind.SERVER, 'fencing-token-required'],
      [SpanKind.CLIENT, 'fencing-token-required'],
    ])
    expect(JSON.stringify(failed.map(({ status, attributes }) => [status, attributes]))).not.toContain('private')
  })

  it('measures requests by command and outcome', async () => {
    const { metric } = openTelemetry()
    const { writer } = await open()
    await writer.key('a', text).set('1')
    await writer.key('a', text).get()
    const duration = await metric('db.client.operation.duration')
    expect(duration?.descriptor).toMatchObject({ unit: 's' })
    const counts = duration?.dataPoints.map(({ attributes, value }) => [
      attributes['db.operation.name'],
      typeof value === 'object' ? value.count : value,
    ])
    expect(counts).toEqual([
      ['SET', 1],
      ['GET', 1],
    ])
  })

  it('counts connections, watches by freshness and pending requests', async () => {
    const { metric } = openTelemetry()
    const { store, watcher } = await open()
    await watch(watcher, 'a')
    const readMetric = async (name: string) =>
      (await metric(name))?.dataPoints.map(({ attributes, value }) => ({ ...attributes, value }))
    expect(await readMetric('rx_statestore.client.connections')).toEqual([{ value: 2 }])
    expect(await readMetric('rx_statestore.server.connections')).toEqual([{ value: 2 }])
    expect(await readMetric('rx_statestore.client.pending_requests')).toEqual([{ value: 0 }])
    expect(await readMetric('rx_statestore.client.watches')).toContainEqual({ freshness: 'live', value: 1 })
    await store.close()
    await eventually(() => store.stats.connections === 0)
    expect(await readMetric('rx_statestore.server.connections')).toEqual([{ value: 0 }])
  })

  it('publishes nothing after it has ended', async () => {
    const { spans, stop } = openTelemetry()
    const { writer } = await open()
    stop()
    await writer.key('a', text).set('1')
    expect(spans()).toEqual([])
  })

  it('adds no properties while no tracer is set up', async () => {
    const stop = instrument({ tracerProvider: trace })
    onTestFinished(stop)
    const { writer } = await open()
    await expect(writer.key('a', text).set('1')).resolves.toMatchObject({ applied: true })
  })
})
