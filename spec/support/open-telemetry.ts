import type { SpanKind, Tracer } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'
import { type InstrumentOptions, instrument } from '../../src/opentelemetry/index.js'

interface Telemetry {
  readonly tracer: Tracer
  /** Returns the spans that have ended. */
  spans(): readonly ReadableSpan[]
  /** Returns the current values of a metric. */
  metric(name: string): Promise<MetricData | undefined>
  stop(): void
}

/** Reports clients and stores to exporters in memory until the end of the test. */
export function openTelemetry(options: InstrumentOptions = {}): Telemetry {
  const spanExporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 2 ** 31 - 1 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const stop = instrument({ tracerProvider, meterProvider, ...options })
  onTestFinished(async () => {
    stop()
    await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()])
  })
  const metric = async (name: string): Promise<MetricData | undefined> => {
    metricExporter.reset()
    await meterProvider.forceFlush()
    const [resource] = metricExporter.getMetrics()
    return resource?.scopeMetrics.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === name)
  }
  return { spans: () => spanExporter.getFinishedSpans(), tracer: tracerProvider.getTracer('spec'), metric, stop }
}

/** Returns the first span of a kind whose name matches. */
export const findSpan = (spans: readonly ReadableSpan[], name: RegExp, kind: SpanKind): ReadableSpan | undefined =>
  spans.find(span => name.test(span.name) && span.kind === kind)
