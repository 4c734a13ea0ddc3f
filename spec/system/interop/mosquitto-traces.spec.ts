import { SpanKind } from '@opentelemetry/api'
import { filter, firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { eventually } from '../../support/eventually.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { openAttached } from '../../support/open-attached.js'
import { openClient } from '../../support/open-client.js'
import { findSpan, openTelemetry } from '../../support/open-telemetry.js'

describe('traces at another broker', () => {
  it('a set, its attached store and its notification are one trace across Mosquitto', async () => {
    const broker = await Mosquitto.launch()
    await openAttached(broker.url)
    const [writer, watcher] = [openClient(broker.url), openClient(broker.url)]
    const watched = watcher.key('a', text)
    watched.value$.subscribe()
    await firstValueFrom(watched.freshness$.pipe(filter(({ state }) => state === 'live')))
    const { spans } = openTelemetry()
    await writer.key('a', text).set('1')
    await eventually(() => findSpan(spans(), /^NOTIFY$/, SpanKind.CONSUMER) !== undefined)
    const client = findSpan(spans(), /^SET /, SpanKind.CLIENT)
    const server = findSpan(spans(), /^SET$/, SpanKind.SERVER)
    const notification = findSpan(spans(), /^NOTIFY$/, SpanKind.CONSUMER)
    expect(server?.parentSpanContext?.spanId).toBe(client?.spanContext().spanId)
    expect(notification?.parentSpanContext?.spanId).toBe(server?.spanContext().spanId)
  })
})
