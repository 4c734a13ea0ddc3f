import { type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import type { ServerRequestTrace } from '../core/diagnostics/server-events.js'
import { displayText } from '../core/util/bytes.js'
import { ATTRIBUTE, operationAttributes, queryText } from './attributes.js'
import { readSpanContext, writeSpanContext } from './trace-context.js'

interface StartedRequest {
  readonly span: Span
  /** Set while the request waits for the log. */
  log: Span | undefined
}

/** Spans of requests at a store in the client's trace, and spans of their time in the log. */
export class StoreSpans {
  readonly #tracer: Tracer
  readonly #withKeys: boolean
  readonly #pending = new Map<ServerRequestTrace, StartedRequest>()

  constructor(tracer: Tracer, withKeys: boolean) {
    this.#tracer = tracer
    this.#withKeys = withKeys
  }

  /** Number of requests that wait for the log. */
  get pending(): number {
    return this.#pending.size
  }

  start(request: ServerRequestTrace): void {
    const { verb, key, glob, traceparent, tracestate } = request
    const target = this.#withKeys ? (key ?? glob) : undefined
    const query =
      verb === undefined || target === undefined ? {} : { [ATTRIBUTE.query]: queryText(verb, displayText(target)) }
    const attributes = { ...operationAttributes(verb), ...query }
    const parent = readSpanContext(traceparent, tracestate)
    const span = this.#tracer.startSpan(verb ?? 'request', { kind: SpanKind.SERVER, attributes }, parent)
    writeSpanContext(span, request.notificationProperties)
    this.#pending.set(request, { span, log: undefined })
  }

  /** A request without outcome after the call that began it waits for the log. */
  called(request: ServerRequestTrace): void {
    const started = this.#pending.get(request)
    if (started === undefined || request.outcome !== 'pending') return
    const parent = trace.setSpan(readSpanContext(undefined, undefined), started.span)
    started.log = this.#tracer.startSpan('log', { kind: SpanKind.INTERNAL }, parent)
  }

  logged(request: ServerRequestTrace): void {
    this.#pending.get(request)?.log?.end()
  }

  end(request: ServerRequestTrace): void {
    const started = this.#pending.get(request)
    if (started === undefined) return
    this.#pending.delete(request)
    const { span } = started
    const { outcome } = request
    const error = outcome === 'unknown' ? outcome : request.error
    if (error !== undefined) {
      span.setAttributes({ [ATTRIBUTE.errorType]: error, [ATTRIBUTE.statusCode]: error })
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    span.end()
  }

  close(): void {
    for (const { span, log } of this.#pending.values()) {
      log?.end()
      span.end()
    }
    this.#pending.clear()
  }
}
