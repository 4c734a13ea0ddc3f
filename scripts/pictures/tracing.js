// `node --import ./tracing.js` reports the spans of a process to Zipkin at ZIPKIN_URL, under OTEL_SERVICE_NAME.

import { context, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { instrument } from 'rx-statestore/opentelemetry'

const URL_OF_ZIPKIN = process.env['ZIPKIN_URL'] ?? ''
const serviceName = process.env['OTEL_SERVICE_NAME'] ?? ''

/** @param {import('@opentelemetry/api').HrTime} time */
const microseconds = ([seconds, nanoseconds]) => seconds * 1e6 + nanoseconds / 1e3

/** @param {import('@opentelemetry/sdk-trace-base').ReadableSpan} span - in the form of Zipkin's API */
const zipkinSpanOf = span => ({
  traceId: span.spanContext().traceId,
  id: span.spanContext().spanId,
  parentId: span.parentSpanContext?.spanId,
  name: span.name,
  kind: span.kind === SpanKind.INTERNAL ? undefined : SpanKind[span.kind],
  timestamp: Math.round(microseconds(span.startTime)),
  duration: Math.max(1, Math.round(microseconds(span.duration))),
  localEndpoint: { serviceName },
  tags: Object.fromEntries(Object.entries(span.attributes).map(([name, value]) => [name, String(value)])),
})

/** @type {import('@opentelemetry/sdk-trace-base').SpanExporter} */
const exporter = {
  export: (spans, done) => {
    const body = JSON.stringify(spans.map(zipkinSpanOf))
    fetch(`${URL_OF_ZIPKIN}/api/v2/spans`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      .then(({ ok }) => done({ code: ok ? 0 : 1 }))
      .catch(error => done({ code: 1, error }))
  },
  shutdown: async () => undefined,
}

context.setGlobalContextManager(new AsyncLocalStorageContextManager())
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
instrument({ keys: true })
