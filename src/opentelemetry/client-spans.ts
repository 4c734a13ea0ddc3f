import {
  type Attributes,
  context,
  type Histogram,
  type Meter,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api'
import type { ClientWatchEvent, RequestTrace } from '../core/diagnostics/client-events.js'
import { singleText, TRACE_PROPERTY } from '../core/protocol/properties.js'
import { systemClock } from '../core/util/clock.js'
import { ServiceError } from '../core/util/errors.js'
import { ATTRIBUTE, addressAttributes, operationAttributes, queryText } from './attributes.js'
import { readSpanContext, writeSpanContext } from './trace-context.js'

/** The boundaries that the conventions advise, s. */
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]

interface StartedRequest {
  readonly span: Span
  readonly attributes: Attributes
  /** ms of the monotonic clock */
  readonly startedAt: number
}

/** Spans and durations of requests, and spans of notifications. */
export class ClientSpans {
  readonly #tracer: Tracer
  readonly #withKeys: boolean
  readonly #duration: Histogram
  readonly #pending = new Map<RequestTrace, StartedRequest>()

  constructor(tracer: Tracer, meter: Meter, withKeys: boolean) {
    this.#tracer = tracer
    this.#withKeys = withKeys
    this.#duration = meter.createHistogram('db.client.operation.duration', {
      description: 'Duration of database client operations',
      unit: 's',
      advice: { explicitBucketBoundaries: BUCKETS },
    })
  }

  /** Number of requests that wait for the connection or for their response. */
  get pending(): number {
    return this.#pending.size
  }

  start(request: RequestTrace): void {
    const { verb, key, glob, url } = request
    const attributes = { ...operationAttributes(verb), ...addressAttributes(url) }
    const target = this.#withKeys ? (key ?? glob) : undefined
    const query = target === undefined ? {} : { [ATTRIBUTE.query]: queryText(verb, target) }
    const span = this.#tracer.startSpan(
      nameOf(verb, attributes),
      { kind: SpanKind.CLIENT, attributes: { ...attributes, ...query } },
      context.active(),
    )
    writeSpanContext(span, request.properties)
    // Not an injected clock: the SDK times the span by the system's clock, and the histogram must agree with the span.
    this.#pending.set(request, { span, attributes, startedAt: systemClock.monotonic() })
  }

  end(request: RequestTrace): void {
    const started = this.#pending.get(request)
    if (started === undefined) return
    this.#pending.delete(request)
    const { span, attributes, startedAt } = started
    const outcome = outcomeAttributes(request)
    span.setAttributes(outcome)
    // An error's message may have the key's name.
    const message = this.#withKeys ? request.error?.message : request.error?.code
    if (message !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message })
    span.end()
    this.#duration.record((systemClock.monotonic() - startedAt) / 1_000, { ...attributes, ...outcome })
  }

  /** Adds a notification to the trace of the change, if the store sent its span. */
  notification(event: ClientWatchEvent): void {
    if (event.type !== 'notification') return
    const { key, userProperties } = event
    const parent = readSpanContext(
      singleText(userProperties[TRACE_PROPERTY.parent]),
      singleText(userProperties[TRACE_PROPERTY.state]),
    )
    const query = this.#withKeys ? { [ATTRIBUTE.query]: queryText('NOTIFY', key) } : {}
    const attributes = { ...operationAttributes('NOTIFY'), ...query }
    this.#tracer.startSpan('NOTIFY', { kind: SpanKind.CONSUMER, attributes }, parent).end()
  }

  /** Ends the spans of requests that are still pending. */
  close(): void {
    for (const { span } of this.#pending.values()) span.end()
    this.#pending.clear()
  }
}

function nameOf(verb: string, attributes: Attributes): string {
  const address = attributes[ATTRIBUTE.address]
  const port = attributes[ATTRIBUTE.port]
  if (address === undefined) return verb
  return `${verb} ${String(address)}${port === undefined ? '' : `:${String(port)}`}`
}

function outcomeAttributes({ outcome, error }: RequestTrace): Attributes {
  if (error === undefined) return outcome === 'cancelled' ? { 'rx_statestore.cancelled': true } : {}
  const { code } = error
  return { [ATTRIBUTE.errorType]: code, ...(error instanceof ServiceError && { [ATTRIBUTE.statusCode]: code }) }
}
